#!/bin/sh
# parts.sh MAKE PART...: makes all parts, whatever fails, with a heading each; at the end names the failed ones.
# The last part's own summary ends the output when all is well.

make=$1
shift
failed=
passed=0
n_failed=0

for part in "$@"; do
    printf '\n== %s\n' "$part"
    start=$(date +%s)
    if $make "$part" </dev/null; then
        passed=$((passed + 1))
        word=ok
    else
        n_failed=$((n_failed + 1))
        failed="$failed $part"
        word=FAILED
    fi
    eval "last=\${$#}"
    [ "$part" = "$last" ] || printf -- '-- %s %s, %d s\n' "$part" "$word" $(($(date +%s) - start))
done

if [ -n "$failed" ]; then
    printf '\nfailed parts:%s\n%d parts passed, %d failed\n' "$failed" "$passed" "$n_failed"
    exit 1
fi
