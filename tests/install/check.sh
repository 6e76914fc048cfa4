#!/bin/sh
# Installs the library into a temporary place and builds the outside project of this folder against it: through pkg-config (shared and
# static) and through CMake (shared, static, C++; also from sources), as DESTDIR stage, moved, and gone again after uninstall.
set -e

here=tests/install
make="${MAKE:-make} -s --no-print-directory BUILD=$BUILD"
cc=${CC:-cc}
cxx=${CXX:-g++}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
version=$(awk '/define TCE_VERSION_(MAJOR|MINOR|PATCH) / { v = v s $3; s = "." } END { print v }' include/tce/version.h)
warnings='-Wall -Wextra -Wpedantic -Werror'

say() { printf '  %-28s' "$1"; }

$make install-library PREFIX="$work/usr"
export PKG_CONFIG_PATH="$work/usr/lib/pkgconfig"
[ "$(pkg-config --modversion tce)" = "$version" ]

say 'pkg-config, shared'
$cc -std=c99 $warnings $here/main.c -o "$work/shared" $(pkg-config --cflags --libs tce) -lm
LD_LIBRARY_PATH="$work/usr/lib" "$work/shared"

# libtce.a by name: -ltce would take the shared one
say 'pkg-config, static'
$cc -std=c99 $warnings $here/main.c -o "$work/static" $(pkg-config --static --cflags --libs tce | sed 's/-ltce/-l:libtce.a/')
! ldd "$work/static" | grep -q libtce
"$work/static"

say 'pkg-config, C++11'
$cxx -std=c++11 $warnings $here/main.cpp -o "$work/cpp" $(pkg-config --cflags --libs tce)
LD_LIBRARY_PATH="$work/usr/lib" "$work/cpp"

# the tree may be moved: CMake's file finds its place itself
mv "$work/usr" "$work/moved"
cmake -S $here -B "$work/cmake" -DCMAKE_PREFIX_PATH="$work/moved" -DCMAKE_C_COMPILER="$cc" -DCMAKE_CXX_COMPILER="$cxx" \
    >"$work/log" 2>&1 &&
    cmake --build "$work/cmake" >>"$work/log" 2>&1 || { cat "$work/log"; exit 1; }
for program in shared static cpp; do
    say "CMake, $program"
    "$work/cmake/$program"
done

# taken in as sources: built inside the outside project, then installed by CMake alone
run() { "$@" >"$work/log" 2>&1 || { cat "$work/log"; exit 1; }; }
run cmake -S $here/subdirectory -B "$work/inside" -DTCE_SOURCE="$PWD" -DHOW=subdirectory -DCMAKE_INSTALL_PREFIX="$work/cmake-installed" \
    -DCMAKE_INSTALL_LIBDIR=lib -DCMAKE_C_COMPILER="$cc" -DCMAKE_CXX_COMPILER="$cxx"
run cmake --build "$work/inside" -j "${JOBS:-1}"
for program in shared static cpp; do
    say "CMake, sources, $program"
    "$work/inside/$program"
done
run cmake --install "$work/inside/tce"
run cmake -S $here/subdirectory -B "$work/fetched" -DTCE_SOURCE="$PWD" -DHOW=fetch
grep -q "<version>$version</version>" package.xml || { echo "package.xml does not say version $version"; exit 1; }

# staged: the same files, under DESTDIR; uninstall leaves nothing
$make install-library PREFIX=/usr DESTDIR="$work/stage"
(cd "$work/stage/usr" && find . ! -type d | sort) >"$work/staged"
(cd "$work/moved" && find . ! -type d | sort) >"$work/installed"
diff "$work/staged" "$work/installed"
(cd "$work/cmake-installed" && find . ! -type d | sort) | diff - "$work/installed"
grep -q '^prefix=/usr$' "$work/stage/usr/lib/pkgconfig/tce.pc"
$make uninstall-library PREFIX=/usr DESTDIR="$work/stage"
[ -z "$(find "$work/stage" ! -type d)" ]
echo "$(wc -l <"$work/installed") files installed, staged and removed"
