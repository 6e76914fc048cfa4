#!/bin/sh
# mujoco_check.sh FOLDER: fails, with the remedy, unless FOLDER has the headers and the library of one MuJoCo 3.x.

folder=$1
header=$folder/include/mujoco/mujoco.h
remedy="run \`make deps\`, or give MUJOCO_DIR=, a folder with include/mujoco/mujoco.h and lib/libmujoco.so"

if [ ! -f "$header" ]; then
    echo "MuJoCo is missing: no $header; $remedy" >&2
    exit 1
fi
if [ ! -e "$folder/lib/libmujoco.so" ] && [ ! -e "$folder/lib/libmujoco.dylib" ]; then
    echo "MuJoCo is missing: no $folder/lib/libmujoco.so; $remedy" >&2
    exit 1
fi
# 390 is 3.9.0, 3010000 is 3.10.0
number=$(awk '$2 == "mjVERSION_HEADER" { print $3 }' "$header")
case "$number" in
    3[0-9][0-9] | 3[0-9][0-9][0-9][0-9][0-9][0-9]) ;;
    *) echo "$header is of version $number; the tasks are written for MuJoCo 3.x: choose one with MUJOCO_VERSION= or MUJOCO_DIR=" >&2
       exit 1 ;;
esac
