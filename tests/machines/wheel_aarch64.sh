#!/bin/sh
# wheel_aarch64.sh ROOT WHEEL PYTHON EMULATOR: the wheel for aarch64 with its extra [tasks], as pip unpacks it there, under the emulator
# with the Debian arm64 in ROOT (root.sh), which has Python and nothing else of what libtce needs. The numbers of the double-precision
# functions are compared with those of the checkout's library on this machine. PYTHON: that of the checkout, with pip.
set -e

root=$(cd "$1" && pwd)
wheel=$(realpath "$2")
python=$3
emulator=$4
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

there=$(ls "$root"/usr/bin/python3.[0-9]* | grep -v config | head -n 1)
version=$(basename "$there" | sed 's/python//')
[ -z "$(find "$root/usr/lib" -name 'libopenblas*')" ] || { echo "$root has OpenBLAS"; exit 1; }

# pip takes nothing that does not fit that machine
"$python" -m pip install -q --disable-pip-version-check --target "$work/site" --only-binary=:all: --implementation cp --python-version "$version" \
    --platform manylinux2014_aarch64 --platform manylinux_2_17_aarch64 --platform manylinux_2_27_aarch64 --platform manylinux_2_28_aarch64 \
    "$wheel[tasks]"

run() {
    (cd "$work" && env -u TCE_LIBRARY HOME="$work" PYTHONPATH="$work/site" OPENBLAS_NUM_THREADS=1 \
        "$emulator" -cpu max -L "$root" "$@") >"$work/said" 2>&1 || { echo "failed under $emulator: $*"; cat "$work/said"; exit 1; }
}

"$python" "$here/wheel_numbers.py" "$work/here.npz"
run "$there" "$here/wheel_numbers.py" "$work/there.npz"
same=$("$python" "$here/wheel_numbers.py" "$work/here.npz" "$work/there.npz")

# the program, and the trainer inside Python
program=$work/site/tce/bin/tce
run "$program" train reacher5/tce run.iterations=2 --out "$work/program"
run "$program" eval "$work/program" --episodes 10
grep -q '^  success ' "$work/said" || { cat "$work/said"; exit 1; }
run "$program" export "$work/program" --c reacher
run "$there" -c "
import tce
run = tce.train('reacher5', config='program/config.yaml', out='python')
print(run.agent().evaluate(5))"
cmp "$work/program/policy.safetensors" "$work/python/policy.safetensors"
echo "aarch64, Python $version, emulated: reacher5/tce, two iterations, from the program and in Python, equal bytes; $same"
