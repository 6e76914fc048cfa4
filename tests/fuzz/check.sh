#!/bin/sh
# check.sh FOLDER TARGET...: every file of tests/fuzz/corpus/TARGET through FOLDER/TARGET, in a process of its own. For the settings also the presets.

folder=$1
shift
log=$(mktemp)
trap 'rm -f "$log"' EXIT
status=0
for target in "$@"; do
    n=0
    presets=
    [ "$target" != settings ] || presets=$(ls examples/configs/*/*.yaml)
    for file in tests/fuzz/corpus/"$target"/* $presets; do
        n=$((n + 1))
        timeout -k 10 60 "$folder/$target" "$file" >"$log" 2>&1 && continue
        echo "fuzz $target: $file: exit status $?"
        head -n 60 "$log"
        status=1
    done
    echo "fuzz $target: $n files"
done
exit $status
