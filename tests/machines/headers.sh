#!/bin/sh
# headers.sh FOLDER: the headers of this machine's packages that a compiler for another system needs,
# in a folder by themselves: the rest of /usr/include would hide that system's own.
set -e

folder=$1
blas=$(${PKG_CONFIG:-pkg-config} --variable=includedir openblas)
mkdir -p "$folder"
for file in Random123 xxhash.h xxh3.h yaml.h zlib.h lapack.h lapacke.h lapacke_config.h \
    lapacke_mangling.h lapacke_utils.h; do
    cp -R "/usr/include/$file" "$folder/"
done
cp "$(dirname "$(find /usr/include -name zconf.h | head -n 1)")/zconf.h" "$folder/"
cp "$blas/cblas.h" "$folder/"
# the system that this OpenBLAS was built on
sed 's/define OPENBLAS_OS_LINUX/define OPENBLAS_OS_DARWIN/' "$blas/openblas_config.h" \
    >"$folder/openblas_config.h"
