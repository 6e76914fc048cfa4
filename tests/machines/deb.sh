#!/bin/sh
# deb.sh ROOT DEBS: installs the Debian packages of the folder DEBS into the unpacked Debian in ROOT (debian.sh), tries each there
# as a user who is not root, and removes them again. Needs root, for chroot.
set -e

root=$(cd "$1" && pwd)
user=65534
rm -rf "$root/work"
mkdir "$root/work" "$root/work/debs" "$root/work/empty"
cp "$2"/*.deb "$root/work/debs/"
cp examples/01_trajectory.c "$root/work/"
chown -R "$user:$user" "$root/work/empty"
find "$root/usr" "$root/etc" "$root/var" ! -type d | sort >"$root/work/before"
administrator() {
    chroot "$root" /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin "$@" >"$root/work/said" 2>&1 || { echo "failed: $*"; cat "$root/work/said"; exit 1; }
}
cleanup() {
    chroot "$root" /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin dpkg --purge python3-tce tce libtce-dev libtce0 >/dev/null 2>&1 || true
    umount "$root/proc" || true
    rm -rf "$root/work"
}
# the program finds its own folder there
mount -t proc proc "$root/proc"
trap cleanup EXIT

n=0
try() {
    n=$((n + 1))
    chroot "--userspec=$user:$user" "$root" /usr/bin/env -i HOME=/work/empty PATH=/usr/bin:/bin OPENBLAS_NUM_THREADS=1 \
        sh -c "cd /work/empty && $1" >"$root/work/said" 2>&1 || { echo "failed: $1"; cat "$root/work/said"; exit 1; }
}
expect() {
    grep -q -- "$1" "$root/work/said" || { echo "not said: $1"; cat "$root/work/said"; exit 1; }
}

administrator sh -c 'dpkg -i /work/debs/*.deb'
try 'dpkg -V libtce0 libtce-dev tce python3-tce'
[ ! -s "$root/work/said" ] || { cat "$root/work/said"; exit 1; }

# the library, as pkg-config says
try 'cc -std=c99 $(pkg-config --cflags tce) /work/01_trajectory.c -o trajectory $(pkg-config --libs tce) -lm && ./trajectory'

# the program, with its tasks and models
try 'tce tasks'
expect '^metaworld_reach '
expect '^box_pushing_dense '
try 'tce train reacher5/tce run.iterations=2 --out runs/reacher'
try 'tce train --resume runs/reacher run.iterations=3'
try 'tce eval runs/reacher --episodes 10 --csv -'
expect '^runs/reacher,reacher5,tce,1,1,9,'
try 'tce export runs/reacher --c arm && cc -std=c99 -c runs/reacher/export/arm.c'
try 'tce train metaworld --task reach run.iterations=1 --seeds 1-2 collect.episodes=8 collect.environments=4 evaluate.episodes=4 --out runs/queue'
try 'tce plot runs/reacher --episodes 0 --no-pictures'
try 'tce config --diff runs/reacher'

# Python: the library, training in the process, and the program's policy
try 'python3 -c "
import tce
assert tce._library.path == \"libtce.so.0\", tce._library.path
run = tce.train(\"point_via\", config={\"run\": {\"iterations\": 2, \"threads\": 1}}, out=\"runs/python\")
assert tce.load(\"runs/reacher\").evaluate(4).returns.shape == (4,)
print(tce.__file__)
"'
expect '/usr/lib/python3/dist-packages/tce/'
try 'python3 -m tce eval runs/python --episodes 4'

administrator dpkg --purge python3-tce tce libtce-dev libtce0
find "$root/usr" "$root/etc" "$root/var" ! -type d | sort >"$root/work/after"
left=$(comm -13 "$root/work/before" "$root/work/after" | grep -v -e /var/lib/dpkg/ -e /var/log/ -e /var/cache/ -e __pycache__ || true)
[ -z "$left" ] || { echo "left after removal: $left"; exit 1; }
(cd "$2" && du -k -- *.deb | awk '{ print $2 ": " $1 " kB" }')
echo "installed in Debian $(cat "$root/etc/debian_version"), $n commands, removed"
