#!/bin/sh
# mujoco.sh VERSION FOLDER PYTHON: headers and library of MuJoCo from its PyPI wheel, into FOLDER/include and FOLDER/lib.
# The wheel is only unpacked: nothing of it is installed into a Python, none of its Python runs. Wheels listed in wheels.sha256 must have that
# checksum; of other versions pip's own check against PyPI is all there is.
set -e

version=$1
folder=$2
python=$3
here=$(dirname "$0")

case "$version" in
    3.*) ;;
    *) echo "mujoco.sh: MUJOCO_VERSION=$version: the tasks are written for MuJoCo 3.x" >&2; exit 1 ;;
esac
machine=$(uname -m)
case "$(uname -s)-$machine" in
    Linux-x86_64 | Linux-aarch64) ;;
    *) echo "mujoco.sh: no MuJoCo wheel for $(uname -s) on $machine; unpack a MuJoCo release yourself and give its folder," \
            "the one with include/ and lib/, as MUJOCO_DIR=" >&2; exit 1 ;;
esac

echo "fetching MuJoCo $version" >&2
work=$folder.part.$$
rm -rf "$work"
mkdir -p "$work/wheel"
trap 'rm -rf "$work"' EXIT

# one wheel for every machine of a kind, whatever Python is there: the library inside does not depend on it
"$python" -m pip download -q --disable-pip-version-check --no-deps --only-binary=:all: --implementation cp --python-version 3.11 --abi cp311 \
    --platform "manylinux2014_$machine" --platform "manylinux_2_17_$machine" --platform "manylinux_2_27_$machine" \
    --platform "manylinux_2_28_$machine" -d "$work" "mujoco==$version" >&2 || {
    echo "mujoco.sh: cannot download the wheel mujoco==$version; needs the network, or give MUJOCO_DIR=" >&2
    exit 1
}
wheel=$(basename "$work"/mujoco-*.whl)
want=$(awk -v name="$wheel" '$2 == name { print $1 }' "$here/wheels.sha256")
got=$(sha256sum "$work/$wheel" | cut -d ' ' -f 1)
if [ -n "$want" ] && [ "$want" != "$got" ]; then
    echo "mujoco.sh: $wheel has checksum $got, wheels.sha256 says $want: a damaged download (try again) or not the file it was" >&2
    exit 1
fi

"$python" -m zipfile -e "$work/$wheel" "$work/wheel"
mkdir -p "$work/lib"
mv "$work/wheel/mujoco/include" "$work/include"
mv "$work"/wheel/mujoco/libmujoco.so.* "$work/lib/"
mv "$work/wheel/mujoco-$version.dist-info/"LICENSE* "$work/" 2>/dev/null || true
(cd "$work/lib" && ln -s libmujoco.so.* libmujoco.so)
rm -rf "$work/wheel" "$work/$wheel"
echo "$version" >"$work/version"
rm -rf "$folder"
mv "$work" "$folder"
trap - EXIT
