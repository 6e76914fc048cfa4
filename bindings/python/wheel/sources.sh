#!/bin/sh
# sources.sh FOLDER PACKAGE...: Debian's source packages, checked by apt and unpacked as
# FOLDER/PACKAGE, patches applied. The sources.list of this machine stays as it is.
set -e
. "$(dirname "$0")/../../../examples/setup/network.sh"

folder=$1
shift
missing=
for package; do
    [ -d "$folder/$package" ] || missing="$missing $package"
done
[ -n "$missing" ] || exit 0

mkdir -p "$folder"
folder=$(cd "$folder" && pwd)
work=$folder/apt
rm -rf "$work"
mkdir -p "$work/lists/partial" "$work/archives/partial" "$work/parts" "$work/unpacked"
trap 'rm -rf "$work"' EXIT

# the places that this machine installs from have the sources too
for list in /etc/apt/sources.list /etc/apt/sources.list.d/*; do
    case $list in
    *.sources) sed 's/^Types: *deb$/Types: deb-src/' "$list" >"$work/parts/$(basename "$list")" ;;
    *.list) [ ! -e "$list" ] || sed 's/^deb /deb-src /' "$list" >"$work/parts/$(basename "$list")" ;;
    esac
done
cat >"$work/conf" <<end
Dir::Etc::sourcelist "/dev/null";
Dir::Etc::sourceparts "$work/parts";
Dir::State::lists "$work/lists";
Dir::Cache::archives "$work/archives";
Dir::Cache::pkgcache "";
Dir::Cache::srcpkgcache "";
APT::Sandbox::User "root";
Debug::NoLocking "true";
Acquire::Retries "1";
end
get_sources() {
    APT_CONFIG=$work/conf apt-get -qq update >&2
    (cd "$work/unpacked" && APT_CONFIG=$work/conf apt-get -qq source $missing >/dev/null)
}

echo "fetching the sources of$missing" >&2
fetch "the sources of$missing" "unpack them yourself as $folder/PACKAGE" get_sources
for package in $missing; do
    mv "$work/unpacked/$package-"*/ "$folder/$package"
done
