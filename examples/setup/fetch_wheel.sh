# fetch_wheel.sh: a PyPI wheel without a Python package, for the scripts that fetch MuJoCo and models; they source it with their
# arguments, VERSION FOLDER PYTHON. A wheel is only unpacked: nothing of it is installed into a Python, none of its Python runs.

version=$1
folder=$2
python=$3
here=$(dirname "$0")
. "$here/network.sh"

# fetch_wheel NAME REMEDY [pip options]: downloads and unpacks NAME into $work/wheel. Its checksum must be the one in the file `versions`; with
# unlisted=yes a wheel may be missing there, and pip's own check is all there is.
fetch_wheel() {
    name=$1
    remedy=$2
    shift 2
    work=$folder.part.$$
    rm -rf "$work"
    mkdir -p "$work/wheel"
    trap 'rm -rf "$work"' EXIT

    fetch "the wheel $name==$version" "$remedy" \
        "$python" -m pip download -q --disable-pip-version-check --no-deps --only-binary=:all: \
        "$@" -d "$work" "$name==$version" >&2 || {
        [ "$offline" = yes ] ||
            echo "$0: cannot download the wheel $name==$version; try again, or $remedy" >&2
        exit 1
    }
    wheel=$(basename "$work/$name"-*.whl)
    want=$(awk -v name="$name" -v version="$version" -v wheel="$wheel" '
        /^[a-z]/ { here = $1 == name && $2 == version }
        /^ / && here && name "-" version "-" $2 ".whl" == wheel { print $1 }' "$here/versions")
    got=$(sha256sum "$work/$wheel" | cut -d ' ' -f 1)
    if [ "$want" != "$got" ] && [ -n "$want$([ "$unlisted" = yes ] || echo x)" ]; then
        echo "$0: $wheel has checksum $got, $here/versions says ${want:-nothing about it}: a damaged download (try again) or not the file it was" >&2
        exit 1
    fi
    "$python" -m zipfile -e "$work/$wheel" "$work/wheel"
}

# keep_wheel: what is in $work but the wheel becomes $folder, with the licence and the version.
keep_wheel() {
    find "$work/wheel/$name-$version.dist-info" -name 'LICENSE*' -exec mv {} "$work/" \;
    rm -rf "$work/wheel" "$work/$wheel"
    echo "$version" >"$work/version"
    rm -rf "$folder"
    mv "$work" "$folder"
    trap - EXIT
}
