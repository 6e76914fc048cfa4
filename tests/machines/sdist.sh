#!/bin/sh
# sdist.sh SDIST PYTHON: builds and installs the source distribution without network into a folder, with
# the setuptools of PYTHON; then trains from there, in an empty folder.
set -e

sdist=$(realpath "$1")
python=$(cd "$(dirname "$2")" && pwd)/$(basename "$2")
checkout=$PWD
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
unshare="unshare -n"
[ "$(id -u)" = 0 ] || unshare="unshare -rn"

cd "$work"
$unshare "$python" -m pip install -q --disable-pip-version-check --no-index --no-deps --no-build-isolation \
    --target "$work/site" "$sdist"
mkdir "$work/empty"
cd "$work/empty"
n=0
try() {
    n=$((n + 1))
    env -i HOME="$work" PATH=/usr/bin:/bin PYTHONPATH="$work/site" "$python" "$@" >"$work/said" 2>&1 ||
        { echo "failed: $*"; cat "$work/said"; exit 1; }
}
try -m tce tasks
grep -q '^pendulum ' "$work/said"
try -m tce train context/sac_mp run.iterations=1 --out run
try -m tce eval run --episodes 4
try -c 'import tce; assert tce.load("run").evaluate(4).returns.size == 4; print(tce._library.path)'
grep -q "^$work/site/tce/lib/" "$work/said"
if grep -rlF "$checkout" "$work/site/tce"; then
    echo "these name the checkout"
    exit 1
fi
echo "a source distribution of $(du -k "$sdist" | cut -f 1) kB, built and installed without network, $n commands"
