#!/bin/sh
# debian.sh SUITE FOLDER PACKAGE...: a Debian of its own in FOLDER with some packages, for commands in a
# chroot; needs root. The mirror is the one that this machine installs from. Done already: nothing to do.
set -e
. "$(dirname "$0")/../../examples/setup/network.sh"

suite=$1
root=$2
shift 2
if [ "$*" = "$(cat "$root/packages" 2>/dev/null)" ]; then
    exit 0
fi
if [ "$(id -u)" != 0 ]; then
    echo "a Debian in a folder of its own takes root (debootstrap, chroot)" >&2
    exit 1
fi
mirror=$(sed -n -e 's/^URIs: *\([^ ]*\/debian\/\{0,1\}\)$/\1/p' -e 's/^deb  *\(\[[^]]*\] *\)\{0,1\}\([^ ]*\/debian\/\{0,1\}\) .*/\2/p' \
    /etc/apt/sources.list /etc/apt/sources.list.d/* 2>/dev/null | head -n 1)
if [ -z "$mirror" ]; then
    echo "no Debian mirror in /etc/apt/sources.list and sources.list.d" >&2
    exit 1
fi

echo "bootstrapping Debian's $suite into $root" >&2
rm -rf "$root"
mkdir -p "$root"
if ! debootstrap --variant=minbase --include="$(echo "$*" | tr ' ' ,)" "$suite" "$root" "$mirror" >"$root.log" 2>&1; then
    tail -n 5 "$root.log" >&2
    echo "Debian's $suite was not bootstrapped; $root.log says why" >&2
    exit 1
fi
rm -rf "$root"/var/cache/apt/archives/*.deb "$root.log"
echo "$*" >"$root/packages"
