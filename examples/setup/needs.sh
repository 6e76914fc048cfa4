#!/bin/sh
# needs.sh [--install] WHAT...: what is missing on this machine, and the line to type; status 1 then, silent otherwise. With
# --install it is installed where that can be done: as root, by apt, one make at a time.
#   WHAT   command:NAME, module:NAME of pkg-config, header:NAME for $CC, python:MODULE of $PYTHON, or package:NAME of Debian
#          for what cannot be looked for in another way (elsewhere it counts as there)
set -e
here=$(dirname "$0")
. "$here/network.sh"

install=
if [ "$1" = --install ]; then
    install=yes
    shift
fi

# Debian's name of something, if the list has it
package_of() {
    case $1 in
    package:*) echo "${1#*:}" ;;
    *) awk -v what="$1" '$1 == what { print $2 }' "$here/packages" ;;
    esac
}

is_there() {
    name=${1#*:}
    case $1 in
    command:*) command -v "$name" ;;
    module:*) ${PKG_CONFIG:-pkg-config} --exists "$name" ;;
    header:*) echo "#include <$name>" | ${CC:-cc} $CPPFLAGS $CFLAGS -E -x c - ;;
    python:*) ${PYTHON:-python3} -c "import $name" ;;
    package:*) ! command -v dpkg-query || dpkg-query -W -f='${db:Status-Status}' "$name" | grep -qx installed ;;
    *) echo "needs.sh: what is $1?" >&2 && exit 2 ;;
    esac >/dev/null 2>&1
}

packages=
things=
unknown=
for what; do
    is_there "$what" && continue
    package=$(package_of "$what")
    case $what in
    module:*) thing="the pkg-config module ${what#*:}" ;;
    *) thing="the ${what%%:*} ${what#*:}" ;;
    esac
    things="$things${things:+, }$thing${package:+ (Debian: $package)}"
    packages="$packages $package"
    [ -n "$package" ] || unknown=yes
done
[ -n "$things" ] || exit 0

root=
[ "$(id -u)" != 0 ] || root=yes
if [ -n "$install" ] && [ -n "$root" ] && [ -z "$unknown" ] && command -v apt-get >/dev/null; then
    # Without network update fails softly, and install says that it cannot find the package: what both said is looked at together.
    apt_install() {
        apt-get -qq -o Acquire::Retries=1 update >&2
        apt-get -qq install -y --no-install-recommends -o DPkg::Lock::Timeout=600 \
            -o Acquire::Retries=1 $packages </dev/null >/dev/null
    }
    echo "installing$packages" >&2
    export DEBIAN_FRONTEND=noninteractive
    mkdir -p deps
    exec 9>deps/apt.lock
    flock 9
    fetch "the packages$packages" "install these yourself, then continue with NO_DEPS=1" apt_install
    exit
fi

# the line to type: by apt-get; by dnf, which knows modules of pkg-config and files by name; else the names have to do
line=
sudo=${root:-sudo }
sudo=${sudo#yes}
if [ -z "$unknown" ] && command -v apt-get >/dev/null; then
    line="${sudo}apt-get install -y$packages"
elif command -v dnf >/dev/null; then
    line="${sudo}dnf install"
    for what; do
        is_there "$what" && continue
        case $what in
        module:*) line="$line 'pkgconfig(${what#*:})'" ;;
        header:*) line="$line /usr/include/${what#*:}" ;;
        command:*) line="$line /usr/bin/${what#*:}" ;;
        *) line="$line ${what#*:}" ;;
        esac
    done
fi
if [ -n "$line" ]; then
    echo "missing: $things. Type:  $line" >&2
else
    echo "missing: $things. Install what this system calls these (with NO_DEPS=1 nothing is looked for)" >&2
fi
exit 1
