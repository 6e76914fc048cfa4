#!/bin/sh
# mujoco.sh VERSION FOLDER PYTHON: headers and library of MuJoCo from its PyPI wheel, into FOLDER/include and FOLDER/lib.
# MUJOCO_MACHINE (x86_64, aarch64): for another machine than this one. Wheels listed in the file
# `versions` must have that checksum; of other versions pip's own check against PyPI is all there is.
set -e

. "$(dirname "$0")/fetch_wheel.sh"

case "$version" in
    3.*) ;;
    *) echo "mujoco.sh: MUJOCO_VERSION=$version: the tasks are written for MuJoCo 3.x" >&2; exit 1 ;;
esac
machine=${MUJOCO_MACHINE:-$(uname -m)}
case "$(uname -s)-$machine" in
    Linux-x86_64 | Linux-aarch64) ;;
    *) echo "mujoco.sh: no MuJoCo wheel for $(uname -s) on $machine; unpack a MuJoCo release yourself and give its folder," \
            "the one with include/ and lib/, as MUJOCO_DIR=" >&2; exit 1 ;;
esac

echo "fetching MuJoCo $version" >&2
# one wheel for every machine of a kind, whatever Python is there: the library inside does not depend on it
unlisted=yes
fetch_wheel mujoco "give MUJOCO_DIR=" --implementation cp --python-version 3.11 --abi cp311 --platform "manylinux2014_$machine" \
    --platform "manylinux_2_17_$machine" --platform "manylinux_2_27_$machine" --platform "manylinux_2_28_$machine"

mkdir -p "$work/lib"
mv "$work/wheel/mujoco/include" "$work/include"
mv "$work"/wheel/mujoco/libmujoco.so.* "$work/lib/"
(cd "$work/lib" && ln -s libmujoco.so.* libmujoco.so)
keep_wheel
