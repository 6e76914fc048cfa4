#!/bin/sh
# build.sh BUILD PYTHON OUT [MACHINE OPENBLAS]: a wheel for any Linux with the glibc below and Python 3.9 or
# later, with OpenBLAS inside, into the folder OUT. gcc compiles, zig links for the older glibc; PYTHON has
# the wheels of wheel.txt. For another MACHINE than this one, OPENBLAS is the folder of its scipy_openblas32.
# Run by `make wheel` and `make wheel-aarch64`, which set MAKE, CC, AR and MUJOCO_DIR.
set -e

build=$1
python=$2
out=$3
here=$(dirname "$0")
machine=${4:-$(uname -m)}
mkdir -p "$build" "$out"
build=$(cd "$build" && pwd)
blas=${5:-$("$python" -c 'import os, scipy_openblas32 as b; print(os.path.dirname(b.__file__))')}
glibc=2.28

# static: Debian's own binaries want a newer glibc
sources=$PWD/deps/wheel/sources
rm -rf "$build/yaml-zlib"
mkdir -p "$build/yaml-zlib"
(
    cd "$build/yaml-zlib"
    $CC -c -O2 -fPIC -fvisibility=hidden -ffile-prefix-map="$sources"=. -I"$sources/libyaml/include" -DYAML_VERSION_MAJOR=0 \
        -DYAML_VERSION_MINOR=2 -DYAML_VERSION_PATCH=5 -DYAML_VERSION_STRING='"0.2.5"' \
        -DYAML_DECLARE_STATIC "$sources"/libyaml/src/*.c
    $CC -c -O2 -fPIC -fvisibility=hidden -DHAVE_UNISTD_H -D_LARGEFILE64_SOURCE=1 "$sources"/zlib/*.c
    rm -f libyz.a
    $AR rcs libyz.a ./*.o
)

# every name of this OpenBLAS begins with scipy_, so that it lives beside numpy's
nm -D --defined-only "$blas/lib/libscipy_openblas.so" |
    awk '$3 ~ /^scipy_(cblas_|LAPACKE_|openblas_)/ { s = $3; sub(/^scipy_/, "", s); print "#define " s " " $3 }' \
        >"$build/rename.new"
cmp -s "$build/rename.new" "$build/rename.h" || cp "$build/rename.new" "$build/rename.h"

# nothing of this machine's folders: no debugging information, no path of the models
$MAKE -s --no-print-directory NO_DEPS=1 BUILD="$build" CC="$CC" AR="$AR" CFLAGS= TASKS_DEPS= \
    LINKER="$python -m ziglang cc -target $machine-linux-gnu.$glibc" LDFLAGS=-s \
    MUJOCO_RPATH='$$ORIGIN/../../mujoco' \
    BLAS_CFLAGS="-include $build/rename.h -isystem $blas/include -isystem $sources/libyaml/include -isystem $sources/zlib" \
    BLAS_LIBS="-L$blas/lib -lscipy_openblas $($CC -print-libgcc-file-name)" \
    TRAINER_LIBS="$build/yaml-zlib/libyz.a $($CC -print-libgcc-file-name)" program

# of what is inside
rm -rf "$build/wheel" "$build/licences"
mkdir -p "$build/licences"
cp "$sources/libyaml/License" "$build/licences/libyaml"
cp "$sources/zlib/LICENSE" "$build/licences/zlib"
cp "$blas"/../scipy_openblas32-*.dist-info/licenses/LICENSE* "$build/licences/" 2>/dev/null ||
    cp "$blas"/../scipy_openblas32-*.dist-info/LICENSE* "$build/licences/"

_PYTHON_HOST_PLATFORM=linux-$machine TCE_BUNDLE_LICENCES="$build/licences" TCE_BUNDLE=$(ls "$build"/lib/libtce.so.*.*.*) TCE_BUNDLE_PROGRAM="$build/bin" "$python" -m pip wheel -q \
    --disable-pip-version-check --no-deps --no-build-isolation -w "$build/wheel" bindings/python
# of another machine, auditwheel finds the tag itself
plat=auto
[ "$machine" != "$(uname -m)" ] || plat=manylinux_$(echo $glibc | tr . _)_$machine
rm -f "$out"/libtce-*_"$machine".whl
LD_LIBRARY_PATH=$blas/lib PATH=$(dirname "$python"):$PATH "$python" -m auditwheel repair \
    --plat "$plat" --exclude 'libmujoco.so.*' -w "$out" "$build"/wheel/*.whl
