#!/bin/sh
# bare.sh ROOT: `make` in an unpacked Debian (debian.sh) that has a compiler and the libraries, but no package manager: as a
# user who is not root, and as root. Then what it says where a library is missing. Needs root, for chroot.
set -e

root=$(cd "$1" && pwd)
user=65534
rm -rf "$root/work"
mkdir "$root/work"
trap 'rm -rf "$root/work"' EXIT
git ls-files -z | tar c --null -T - | tar x -C "$root/work"
chown -R "$user:$user" "$root/work"

# without what could install anything, or tell what is installed; these are other files in every distribution
for name in apt apt-get dpkg dpkg-query; do
    rm -f "$root/usr/bin/$name"
done

inside() {
    chroot "--userspec=$1" "$root" /usr/bin/env -i HOME=/work PATH=/usr/bin:/bin sh -c "cd /work && $2"
}
failed=0
check() {
    echo "$1: $2"
    [ "$2" = ok ] || { failed=1; cat "$root/work/said"; }
}

inside "$user:$user" "make -j ${JOBS:-1}" >"$root/work/said" 2>&1 && [ -e "$root/work/lib/libtce.so" ] && word=ok || word=FAILED
check "make without a package manager, as a user who is not root" "$word"

touch "$root/work/before"
inside 0:0 "make -j ${JOBS:-1} BUILD=as-root" >"$root/work/said" 2>&1 && [ -e "$root/work/as-root/lib/libtce.so" ] &&
    [ -z "$(find "$root/usr" "$root/etc" "$root/var" -newer "$root/work/before")" ] && word=ok || word=FAILED
check "make as root, which installs nothing" "$word"

word=FAILED
inside "$user:$user" "PKG_CONFIG_LIBDIR=/none make BUILD=missing" >"$root/work/said" 2>&1 ||
    { grep -q 'missing: the pkg-config module lapacke (Debian: liblapacke-dev), the pkg-config module openblas' "$root/work/said" &&
        grep -q 'Install what this system calls these' "$root/work/said" && word=ok; }
check "make names the libraries that are missing" "$word"
exit $failed
