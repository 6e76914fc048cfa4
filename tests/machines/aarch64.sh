#!/bin/sh
# aarch64.sh BUILD EMULATOR FILE...: under the emulator, the case files and two iterations of the
# reacher, as they are built in the folder BUILD.

build=$1
emulator=$2
shift 2
failed=0
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

$emulator "$build/replay" "$@" >"$work/cases" || failed=1
grep FAIL "$work/cases"
tail -n 1 "$work/cases"

$emulator "$build/bin/tce" train examples/configs/reacher5/tce.yaml run.iterations=2 \
    --quiet --out "$work/run" || failed=1
iterations=$(grep -c '^[12],' "$work/run/progress.csv")
echo "reacher5/tce: $iterations iterations"
[ "$iterations" = 2 ] || failed=1
$emulator "$build/bin/tce" eval "$work/run" || failed=1
exit $failed
