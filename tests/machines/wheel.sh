#!/bin/sh
# wheel.sh ROOT WHEEL PYTHON: installs the wheel with its extra [tasks] into a virtual environment of the unpacked Debian in ROOT
# (debian.sh), which has Python and nothing else of what libtce needs, and types commands of the README there in an empty folder. The
# numbers of the double-precision functions are compared with those of the checkout's library. PYTHON: that of the checkout, with pip.
# Needs root, for chroot, and the network, for the wheels that pip would fetch.
set -e

root=$(cd "$1" && pwd)
wheel=$(realpath "$2")
python=$3
user=65534
here=$(dirname "$0")
version=$(chroot "$root" /usr/bin/python3 -c 'import sys; print("%d.%d" % sys.version_info[:2])')
rm -rf "$root/work"
mkdir -p "$root/work/empty" "$root.wheels"
# the program finds its own folder there
mount -t proc proc "$root/proc"
trap 'umount "$root/proc"; rm -rf "$root/work"' EXIT

# what pip would fetch there, fetched here: the settings of this machine's pip stay its own
download() {
    "$python" -m pip download -q --disable-pip-version-check -d "$root.wheels" --only-binary=:all: --python-version "$version" \
        --platform manylinux2014_x86_64 --platform manylinux_2_17_x86_64 --platform manylinux_2_27_x86_64 --platform manylinux_2_28_x86_64 "$@"
}
rm -f "$root.wheels"/libtce-*.whl
cp "$wheel" "$root.wheels/"
[ -e "$root.wheels/done" ] || download "$wheel[tasks]"
for name in fancy_gym metaworld; do
    [ -e "$root.wheels/done" ] || download --no-deps --ignore-requires-python "$name==$(awk -v name=$name '$1 == name { print $2; exit }' examples/setup/versions)"
done
touch "$root.wheels/done"
cp -r "$root.wheels" "$root/work/wheels"
cp "$here/wheel_numbers.py" "$root/work/"
chown -R "$user:$user" "$root/work/empty"

n=0
try() {
    n=$((n + 1))
    chroot "--userspec=$user:$user" "$root" /usr/bin/env -i HOME=/work/empty PATH=/work/empty/venv/bin:/usr/bin:/bin OPENBLAS_NUM_THREADS=1 \
        PIP_NO_INDEX=1 PIP_FIND_LINKS=/work/wheels PIP_DISABLE_PIP_VERSION_CHECK=1 \
        sh -c "cd /work/empty && $1" >"$root/work/said" 2>&1 || { echo "failed with Python $version: $1"; cat "$root/work/said"; exit 1; }
}
expect() {
    grep -q -- "$1" "$root/work/said" || { echo "not said: $1"; cat "$root/work/said"; exit 1; }
}

[ ! -e "$root/usr/bin/cc" ] && [ -z "$(find "$root/usr/lib" -name 'libopenblas*')" ] || { echo "$root has a compiler or OpenBLAS"; exit 1; }
try 'python3 -m venv venv && venv/bin/pip install -q "/work/wheels/$(cd /work/wheels && ls libtce-*)[tasks]"'
n=0
try 'tce train reacher5/tce run.iterations=3 --out runs/reacher'
try 'tce train --resume runs/reacher run.iterations=4'
try 'tce eval runs/reacher --episodes 20'
expect '^  success '
try 'tce export runs/reacher --c reacher'
try 'test -s runs/reacher/export/reacher.c && tce export runs/reacher --onnx'
try 'tce models'
try 'tce tasks'
expect '^box_pushing_dense '
try 'tce train metaworld --task reach,push --seeds 1-2 --jobs 2 run.iterations=1 collect.episodes=8 collect.environments=4 evaluate.episodes=4 --out runs/queue'
try 'tce train --resume runs/queue'
try 'tce plot runs/queue --no-pictures'
try 'tce config --diff reacher5/tce reacher5/bbrl'
commands=$n

# import, beside numpy: the best of five
try 'python -c "
import subprocess, sys, time
def seconds(code):
    best = 9.0
    for i in range(5):
        begin = time.perf_counter()
        subprocess.run([sys.executable, \"-c\", code], check=True)
        best = min(best, time.perf_counter() - begin)
    return best
print(\"%.3f\" % (seconds(\"import numpy, tce\") - seconds(\"import numpy\")))
"'
import=$(cat "$root/work/said")
try 'python /work/wheel_numbers.py numbers.npz'
"$python" "$here/wheel_numbers.py" "$root/work/checkout.npz"
same=$("$python" "$here/wheel_numbers.py" "$root/work/checkout.npz" "$root/work/empty/numbers.npz")
installed=$(du -ksc "$root"/work/empty/venv/lib/python3*/site-packages/tce "$root"/work/empty/venv/lib/python3*/site-packages/libtce.libs | tail -n 1 | cut -f 1)
echo "Debian $(cat "$root/etc/debian_version"), Python $version: $commands commands from an empty folder; $installed kB installed; import $import s; $same"
awk -v seconds="$import" 'BEGIN { exit !(seconds < 0.3) }' || { echo "importing takes longer than 0.3 s"; exit 1; }
