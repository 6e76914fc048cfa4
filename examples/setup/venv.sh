#!/bin/sh
# venv.sh PYTHON VENV STAMP FILE... [-- OPTION...]: the wheels of requirements files into
# the virtual environment VENV, which PYTHON makes where it is missing; then touches STAMP. Nothing
# is installed whose hash is not in the files. Options go to pip, in place of the rule that only
# wheels are taken. One make at a time; the second finds it done.
set -e
. "$(dirname "$0")/network.sh"

python=$1
venv=$2
stamp=$3
shift 3
files=
while [ $# -gt 0 ] && [ "$1" != -- ]; do
    files="$files $1"
    shift
done
if [ $# -gt 0 ]; then shift; else set -- --only-binary=:all:; fi
for file in $files; do set -- "$@" -r "$file"; done

mkdir -p deps
exec 9>deps/lock
flock 9
current=yes
for file in $files; do [ "$stamp" -nt "$file" ] || current=no; done
if [ $current = yes ]; then
    touch "$stamp"
    exit 0
fi

"$venv/bin/python" -m pip --version >/dev/null 2>&1 || "$python" -m venv --clear "$venv"
echo "installing the wheels of$files into $venv" >&2
# some wheels are gigabytes: pip shows how far it is where somebody looks
[ -t 2 ] || set -- -q "$@"
code=0
fetch "the wheels of$files" \
    "copy these to a folder and name it in PIP_FIND_LINKS, with PIP_NO_INDEX=1" \
    "$venv/bin/python" -m pip install --disable-pip-version-check --require-hashes "$@" || code=$?
if [ $code != 0 ]; then
    version=$("$venv/bin/python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
    case "$version" in
        3.11 | 3.12 | 3.13) ;;
        *) echo "$venv has Python $version, the wheels are pinned for 3.11 to 3.13:" \
               "remove $venv and name such a Python with PYTHON=" >&2 ;;
    esac
    exit $code
fi
touch "$stamp"
