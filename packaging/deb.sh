#!/bin/sh
# deb.sh VERSION MAJOR PYTHON BUILD OUT: Debian packages libtce0, libtce-dev, tce and python3-tce for this machine, into OUT.
# BUILD holds what `make install DESTDIR=BUILD/root PREFIX=/usr LIBDIR=/usr/lib/<machine>` has installed; PYTHON has setuptools.
# Run by `make deb`.
set -e

version=$1
major=$2
python=$3
build=$(cd "$4" && pwd)
mkdir -p "$5"
out=$(cd "$5" && pwd)
sources=$PWD
architecture=$(dpkg --print-architecture)
machine=$(dpkg-architecture -qDEB_HOST_MULTIARCH)
root=$build/root
maintainer="${DEBFULLNAME:-The libtce authors} <${DEBEMAIL:-libtce@example.org}>"
# files get the time of the last change, so that the same sources make the same packages
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || stat -c %Y CHANGELOG.md)}
export SOURCE_DATE_EPOCH

# ---- files ----------------------------------------------------------------------------------------

# take PACKAGE PATH...: moves what was installed under these paths, which may be patterns, into the tree of a package
take() {
    package=$1
    shift
    # patterns are meant to expand here
    for path in $(cd "$root" && ls -d $*); do
        mkdir -p "$build/$package/$(dirname "$path")"
        mv "$root/$path" "$build/$package/$path"
    done
}

rm -rf "$build"/libtce0 "$build"/libtce-dev "$build"/tce "$build"/python3-tce "$build"/wheel "$build"/shlibs "$build"/debian
take libtce0 "usr/lib/$machine/libtce.so.*"
take libtce-dev usr/include "usr/lib/$machine/libtce.*" "usr/lib/$machine/pkgconfig" "usr/lib/$machine/cmake"
take tce usr/bin/tce usr/lib/tce usr/share/tce usr/share/doc/tce usr/share/bash-completion usr/share/zsh/site-functions
mkdir -p "$build/tce/usr/share/zsh/vendor-completions"
mv "$build/tce/usr/share/zsh/site-functions/_tce" "$build/tce/usr/share/zsh/vendor-completions/"
rmdir "$build/tce/usr/share/zsh/site-functions"
left=$(find "$root" ! -type d)
[ -z "$left" ] || { echo "installed, but in no package: $left" >&2; exit 1; }

mkdir -p "$build/wheel" "$build/python3-tce/usr/lib/python3/dist-packages"
(
    cd bindings/python
    TCE_BUNDLE=none TCE_BUNDLE_PROGRAM=none "$python" -c \
        "from setuptools import build_meta; build_meta.build_wheel('$build/wheel')" >"$build/wheel.log" 2>&1 ||
        { cat "$build/wheel.log" >&2; exit 1; }
)
"$python" -m zipfile -e "$build"/wheel/*.whl "$build/python3-tce/usr/lib/python3/dist-packages"
# the program is that of the package tce
rm -f "$build"/python3-tce/usr/lib/python3/dist-packages/*.dist-info/entry_points.txt \
    "$build"/python3-tce/usr/lib/python3/dist-packages/*.dist-info/RECORD

for file in "$build"/libtce0/usr/lib/"$machine"/libtce.so.*.*.* "$build"/tce/usr/bin/tce "$build"/tce/usr/lib/tce/libtce_*.so; do
    strip --strip-unneeded --remove-section=.comment "$file"
done
strip --strip-debug --enable-deterministic-archives "$build/libtce-dev/usr/lib/$machine/libtce.a"

# ---- what each package needs ------------------------------------------------------------------------

# libraries of other packages, by what the binaries ask for
mkdir -p "$build/shlibs/debian" "$build/libtce0/DEBIAN"
printf 'Source: libtce\n\nPackage: libtce0\nArchitecture: any\n' >"$build/shlibs/debian/control"
echo "libtce $major libtce0 (>= $version)" >"$build/libtce0/DEBIAN/shlibs"
needs() {
    (cd "$build/shlibs" && dpkg-shlibdeps -O --ignore-missing-info -S"$build/libtce0" -l"$build/tce/usr/lib/tce" "$@" 2>"$build/shlibs/said") \
        >"$build/shlibs/needs" || { cat "$build/shlibs/said" >&2; return 1; }
    sed 's/^shlibs:Depends=//' "$build/shlibs/needs"
}
library_needs=$(needs "$build"/libtce0/usr/lib/"$machine"/libtce.so.*.*.*)
program_needs=$(needs "$build/tce/usr/bin/tce" "$build"/tce/usr/lib/tce/*.so*)

# control PACKAGE SECTION ARCHITECTURE FIELDS: its control file; the description comes on stdin
control() {
    mkdir -p "$build/$1/DEBIAN"
    {
        printf 'Package: %s\nSource: libtce\nVersion: %s\nSection: %s\nPriority: optional\nArchitecture: %s\nMaintainer: %s\n' \
            "$1" "$version" "$2" "$3" "$maintainer"
        printf '%s\n' "$4"
        printf 'Installed-Size: %s\n' "$(du -ks --exclude=DEBIAN "$build/$1" | cut -f 1)"
        sed '1s/^/Description: /; 2,$s/^/ /'
    } >"$build/$1/DEBIAN/control"
}

control libtce0 libs "$architecture" "Multi-Arch: same
Depends: $library_needs" <<'TEXT'
episodic reinforcement learning on movement primitives: C library
ProDMP trajectories, Gaussian policies with full covariance, trust-region
projection and the segment objective of temporally-correlated episodic
reinforcement learning (TCE), with environments behind a table of functions.
TEXT
printf 'activate-noawait ldconfig\n' >"$build/libtce0/DEBIAN/triggers"

control libtce-dev libdevel "$architecture" "Multi-Arch: same
Depends: libtce0 (= $version)
Suggests: pkg-config, libopenblas-dev, liblapacke-dev, tce (= $version)" <<'TEXT'
episodic reinforcement learning on movement primitives: development files
Headers of libtce for C and C++, the static library, and files for pkg-config
and CMake.
TEXT

control tce science "$architecture" "Depends: $program_needs
Recommends: python3-matplotlib, ffmpeg, libegl1" <<'TEXT'
episodic reinforcement learning on movement primitives: training program
The program tce trains, evaluates, plots and exports policies. With it come its
tasks, their settings and models, and the MuJoCo that simulates them.
TEXT

control python3-tce python all "Depends: python3 (>= 3.9), python3-numpy (>= 1:1.22), libtce0 (>= $version)
Recommends: tce (>= $version), python3-matplotlib" <<'TEXT'
episodic reinforcement learning on movement primitives: Python package
The package tce: libtce on numpy arrays, training on environments in Python,
and, with the package tce, its tasks.
TEXT
# as dh_python3 would write them
cat >"$build/python3-tce/DEBIAN/postinst" <<'TEXT'
#!/bin/sh
set -e
if [ "$1" = configure ] && command -v py3compile >/dev/null; then
    py3compile -p python3-tce
fi
TEXT
cat >"$build/python3-tce/DEBIAN/prerm" <<'TEXT'
#!/bin/sh
set -e
if command -v py3clean >/dev/null; then
    py3clean -p python3-tce
fi
TEXT
chmod 755 "$build/python3-tce/DEBIAN/postinst" "$build/python3-tce/DEBIAN/prerm"

# ---- packages -------------------------------------------------------------------------------------

# licences of what the program comes with
inside_tce() {
    printf '\nFiles: usr/lib/tce/libmujoco*\nCopyright: DeepMind Technologies Limited\nLicense: Apache-2.0\n'
    printf ' See LICENSE.mujoco beside this file, and /usr/share/common-licenses/Apache-2.0.\n'
    for models in fancy_gym metaworld; do
        printf '\nFiles: usr/share/tce/models/%s/*\n%s\nLicense: Expat\n' "$models" \
            "$(sed -n 's/^Copyright (c) /Copyright: /p' "$build/tce/usr/share/tce/models/$models/LICENSE" | head -n 1)"
        printf ' See LICENSE in that folder.\n'
    done
}

for package in libtce0 libtce-dev tce python3-tce; do
    documents=$build/$package/usr/share/doc/$package
    mkdir -p "$documents"
    {
        printf 'Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/\nUpstream-Name: libtce\n\nFiles: *\n'
        sed -n 's/^Copyright (c) /Copyright: /p' "$sources/LICENSE" | head -n 1
        printf 'License: Expat\n'
        sed '1,/^Copyright/d; s/^$/./; s/^/ /' "$sources/LICENSE" | sed '1{/^ \.$/d}'
        [ "$package" != tce ] || inside_tce
    } >"$documents/copyright"
    gzip -9n <CHANGELOG.md >"$documents/changelog.gz"
    rm -f "$documents/LICENSE"
    (cd "$build/$package" && find usr -type f -print0 | LC_ALL=C sort -z | xargs -0 md5sum >DEBIAN/md5sums)
    find "$build/$package" -type d -exec chmod 755 {} +
    find "$build/$package/usr" -type f ! -perm -100 -exec chmod 644 {} +
    find "$build/$package/usr" -type f -perm -100 -exec chmod 755 {} +
    find "$build/$package" -newermt "@$SOURCE_DATE_EPOCH" -exec touch -h -d "@$SOURCE_DATE_EPOCH" {} +
    dpkg-deb --root-owner-group --build "$build/$package" "$out" >/dev/null
done
ls "$out"/libtce0_"$version"_*.deb "$out"/libtce-dev_"$version"_*.deb "$out"/tce_"$version"_*.deb "$out"/python3-tce_"$version"_*.deb
