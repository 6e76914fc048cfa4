#!/bin/sh
# metaworld.sh VERSION FOLDER PYTHON: model files of the fifty Metaworld tasks from the PyPI wheel metaworld (MIT), into FOLDER.
set -e

. "$(dirname "$0")/fetch_wheel.sh"

echo "fetching the models of metaworld $version" >&2
fetch_wheel metaworld "set TCE_MODELS to a folder that has metaworld/assets of that version"

# the models that the tasks name, and all files that these name in turn
assets=$work/wheel/metaworld/assets
models=$(sed -n 's/^ *\.xml = "\(.*\)",$/sawyer_xyz\/\1/p' "$here"/../tasks/metaworld/*.c | sort -u)
keep() {
    for file in $1; do
        # there are names in comments that no file has
        [ -e "$assets/$file" ] && [ ! -e "$work/assets/$file" ] || continue
        mkdir -p "$work/assets/$(dirname "$file")"
        cp "$assets/$file" "$work/assets/$file"
        case "$file" in *.xml) keep "$(named_in "$file")" ;; esac
    done
}
# file="..." of an XML file: below the folder of the main models, wherever the file itself is, or below the model's mesh and texture folders
named_in() {
    tr '"' "'" <"$assets/$1" | grep -o "file *= *'[^']*'" | sed "s/.*'\(.*\)'/\1/; s,^,sawyer_xyz/," | while read -r path; do
        realpath -m --relative-to=/ "/$path"
    done
}
keep "$models"
keep_wheel
