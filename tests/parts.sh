#!/bin/sh
# parts.sh MAKE PART...: makes all parts, whatever fails, with a heading and a time for each; then a table of the times, and the failed ones.
# When all is well, the last part's own last line, which is its summary, ends the output.

make=$1
shift
times=
failed=
passed=0
n_failed=0
begin=$(date +%s)
held=$(mktemp)
trap 'rm -f "$held" "$held.status"' EXIT

# holds the last line back until the table has been printed
hold_last_line() {
    awk -v held="$held" 'NR > 1 { print last; fflush() } { last = $0 } END { if (NR) print last >held }'
}

eval "last_part=\${$#}"
for part in "$@"; do
    printf '\n== %s\n' "$part"
    start=$(date +%s)
    if [ "$part" = "$last_part" ]; then
        { $make "$part" </dev/null; echo $? >"$held.status"; } | hold_last_line
        status=$(cat "$held.status")
    else
        $make "$part" </dev/null
        status=$?
    fi
    seconds=$(($(date +%s) - start))
    if [ "$status" = 0 ]; then
        passed=$((passed + 1))
        word=ok
    else
        n_failed=$((n_failed + 1))
        failed="$failed $part"
        word=FAILED
        [ "$part" != "$last_part" ] || cat "$held"
    fi
    printf -- '-- %s %s, %d s\n' "$part" "$word" "$seconds"
    times="$times$part $word $seconds
"
done

printf '\n== times\n%s' "$times" | awk '
    NF == 3 { printf "%7d s  %s%s\n", $3, $1, $2 == "ok" ? "" : "  " $2; next }
    { print }'
printf '%7d s  together\n\n' $(($(date +%s) - begin))
if [ -n "$failed" ]; then
    [ "$status" != 0 ] || cat "$held"
    printf 'failed parts:%s\n%d parts passed, %d failed\n' "$failed" "$passed" "$n_failed"
    exit 1
fi
cat "$held"
