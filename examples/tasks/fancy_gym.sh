#!/bin/sh
# fancy_gym.sh VERSION FOLDER PYTHON: model files of Box Pushing, Hopper Jump and Table Tennis from the PyPI wheel fancy_gym (MIT), into FOLDER.
# The wheel is only unpacked: nothing of it is installed into a Python, none of its Python runs. Its checksum must be in wheels.sha256.
set -e

version=$1
folder=$2
python=$3
here=$(dirname "$0")

echo "fetching the models of fancy_gym $version" >&2
work=$folder.part.$$
rm -rf "$work"
mkdir -p "$work/wheel" "$work/envs/mujoco"
trap 'rm -rf "$work"' EXIT

"$python" -m pip download -q --disable-pip-version-check --no-deps --only-binary=:all: -d "$work" "fancy_gym==$version" >&2 || {
    echo "fancy_gym.sh: cannot download the wheel fancy_gym==$version; needs the network, or set TCE_MODELS to a folder that has" \
         "fancy_gym/envs/mujoco of that version" >&2
    exit 1
}
wheel=$(basename "$work"/fancy_gym-*.whl)
want=$(awk -v name="$wheel" '$2 == name { print $1 }' "$here/wheels.sha256")
got=$(sha256sum "$work/$wheel" | cut -d ' ' -f 1)
if [ "$want" != "$got" ]; then
    echo "fancy_gym.sh: $wheel has checksum $got, wheels.sha256 says ${want:-nothing about it}: a damaged download (try again) or not" \
         "the file it was" >&2
    exit 1
fi

# the three tasks' assets and the licence are all that stays
"$python" -m zipfile -e "$work/$wheel" "$work/wheel"
for task in box_pushing hopper_jump table_tennis; do
    mkdir "$work/envs/mujoco/$task"
    mv "$work/wheel/fancy_gym/envs/mujoco/$task/assets" "$work/envs/mujoco/$task/"
done
find "$work/wheel/fancy_gym-$version.dist-info" -name 'LICENSE*' -exec mv {} "$work/" \;
rm -rf "$work/wheel" "$work/$wheel"
echo "$version" >"$work/version"
rm -rf "$folder"
mv "$work" "$folder"
trap - EXIT
