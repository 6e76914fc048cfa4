#!/bin/sh
# fancy_gym.sh VERSION FOLDER PYTHON: model files of Box Pushing, Hopper Jump and Table Tennis from the PyPI wheel fancy_gym (MIT), into FOLDER.
set -e

. "$(dirname "$0")/fetch_wheel.sh"

echo "fetching the models of fancy_gym $version" >&2
fetch_wheel fancy_gym "set TCE_MODELS to a folder that has fancy_gym/envs/mujoco of that version"

# the three tasks' assets are all that stays
for task in box_pushing hopper_jump table_tennis; do
    mkdir -p "$work/envs/mujoco/$task"
    mv "$work/wheel/fancy_gym/envs/mujoco/$task/assets" "$work/envs/mujoco/$task/"
done
keep_wheel
