#!/bin/sh
# root.sh ARCHITECTURE FOLDER PACKAGE...: unpacks Debian packages of another architecture, and all
# that they need, into FOLDER, for cross compilers and emulators. Nothing is installed on this
# machine, and no script of a package is run. Done already: nothing to do.
set -e
. "$(dirname "$0")/../../examples/setup/network.sh"

arch=$1
root=$2
shift 2
if [ "$*" = "$(cat "$root/packages" 2>/dev/null)" ]; then
    exit 0
fi
rm -rf "$root"
mkdir -p "$root/apt/lists/partial" "$root/apt/archives/partial"
root=$(cd "$root" && pwd)

# an apt of its own, for which nothing is installed yet
: >"$root/apt/status"
cat >"$root/apt/conf" <<end
APT::Architecture "$arch";
APT::Architectures { "$arch"; };
APT::Install-Recommends "false";
APT::Sandbox::User "root";
Dir::State::status "$root/apt/status";
Dir::State::lists "$root/apt/lists";
Dir::Cache::archives "$root/apt/archives";
Dir::Cache::pkgcache "";
Dir::Cache::srcpkgcache "";
Debug::NoLocking "true";
Acquire::Retries "1";
end
apt_download() {
    APT_CONFIG=$root/apt/conf apt-get -qq update >&2
    APT_CONFIG=$root/apt/conf apt-get -qq install -y --download-only "$@" </dev/null >/dev/null
}

echo "unpacking Debian's $arch packages of $* into $root" >&2
fetch "Debian's $arch packages" "try again later" apt_download "$@"
for package in "$root"/apt/archives/*.deb; do
    dpkg-deb -x "$package" "$root"
done
rm -rf "$root/apt"

# links that count from the root of the machine
find "$root" -type l -lname '/*' | while read -r link; do
    ln -sfrn "$root$(readlink "$link")" "$link"
done

# OpenBLAS, as the alternatives of an installed system would have it
for folder in "$root"/usr/lib/*/openblas-pthread; do
    [ -d "$folder" ] || continue
    cd "$folder/.."
    ln -sf openblas-pthread/lib*.so* .
    cd pkgconfig
    for file in ../openblas-pthread/pkgconfig/*.pc; do
        name=$(basename "$file" .pc)
        ln -sf "$file" "${name%-openblas}.pc"
    done
done
echo "$*" >"$root/packages"
