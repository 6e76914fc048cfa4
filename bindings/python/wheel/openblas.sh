#!/bin/sh
# openblas.sh MACHINE FOLDER PYTHON: the OpenBLAS that wheel.txt pins, for another machine than this one, as
# FOLDER/scipy_openblas32; pip checks its hash. Done already: nothing to do.
set -e
here=$(dirname "$0")
. "$here/../../../examples/setup/network.sh"

machine=$1
folder=$2
python=$3
pin=$(awk '/^scipy-openblas32==/ { inside = 1 } inside { print } inside && !/\\$/ { exit }' "$here/wheel.txt")
if [ "$pin" = "$(cat "$folder/pin" 2>/dev/null)" ]; then
    exit 0
fi
rm -rf "$folder"
mkdir -p "$folder"
echo "$pin" >"$folder/wanted"
fetch "the wheel of OpenBLAS for $machine" "try again later" \
    "$python" -m pip install -q --disable-pip-version-check --require-hashes --no-deps --only-binary=:all: --target "$folder" \
    --platform "manylinux_2_27_$machine" --platform "manylinux_2_28_$machine" -r "$folder/wanted"
mv "$folder/wanted" "$folder/pin"
