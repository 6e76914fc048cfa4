#!/bin/sh
# Installs everything into a temporary place, moves that, and types commands of the docs in an empty
# folder, where nothing of the checkout is in the environment; then uninstalls.
set -e

make="${MAKE:-make} -s --no-print-directory BUILD=$BUILD"
checkout=$PWD
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

$make install PREFIX="$work/usr"
for file in "$work/usr/bin/tce" "$work/usr"/lib/tce/libtce_*; do
    if readelf -d "$file" | grep -E 'R(UN)?PATH' | grep -F "$checkout"; then
        echo "$file looks for libraries in the checkout"
        exit 1
    fi
done

mv "$work/usr" "$work/moved"
mkdir "$work/empty"
cd "$work/empty"
n=0
try() {
    n=$((n + 1))
    env -i HOME="$work/home" PATH="$work/moved/bin:/usr/bin:/bin" OPENBLAS_NUM_THREADS=1 "$@" \
        >"$work/said" 2>&1 || { echo "failed: $*"; cat "$work/said"; exit 1; }
}
try tce tasks
grep -q '^metaworld_reach ' "$work/said"
try tce config hopper_jump/bbrl_cov
try tce train reacher5/tce run.iterations=1 --seed 3 --out runs/reacher
try tce eval runs/reacher --episodes 10
try tce eval reacher5/tce-1 --episodes 10
try tce export reacher5/tce-1 --c arm --out arm
try tce export runs/reacher --c arm
try tce plot runs/reacher --episodes 0 --no-pictures
try tce train --resume runs/reacher run.iterations=2
try tce train metaworld --task reach run.iterations=1 --seeds 1 --jobs 1 collect.episodes=8 \
    collect.environments=4 evaluate.episodes=4 --out runs/reach
try tce bench point_via/tce --iterations 1
try tce completion bash
cmp "$work/said" "$work/moved/share/bash-completion/completions/tce"

cd "$checkout"
mv "$work/moved" "$work/usr"
$make uninstall PREFIX="$work/usr"
left=$(find "$work/usr" ! -type d)
[ -z "$left" ] || { echo "left by uninstall: $left"; exit 1; }
echo "$n commands of an installed copy, from an empty folder"
