#!/bin/sh
# install_packages.sh PACKAGE...: installs the Debian packages that are missing: as root by apt, one
# make at a time, else says what to type. Silent when there is nothing to do.
set -e
. "$(dirname "$0")/network.sh"

missing=
have=" $(dpkg-query -W -f='${db:Status-Status}:${Package} ' "$@" 2>/dev/null || true) "
for package; do
    case "$have" in *" installed:$package "*) ;; *) missing="$missing $package" ;; esac
done
[ -n "$missing" ] || exit 0

if ! command -v apt-get >/dev/null; then
    echo "cannot check for the libraries here: needs what Debian calls$missing" \
        "(NO_DEPS=1 goes on without)" >&2
    exit 1
fi
if [ "$(id -u)" != 0 ]; then
    echo "missing packages; please run:  sudo apt-get install -y$missing" >&2
    exit 1
fi

# Without network update fails softly, and install says that it cannot find the package: what both
# said is looked at together.
apt_install() {
    apt-get -qq -o Acquire::Retries=1 update >&2
    apt-get -qq install -y --no-install-recommends -o DPkg::Lock::Timeout=600 \
        -o Acquire::Retries=1 $missing </dev/null >/dev/null
}

echo "installing$missing" >&2
export DEBIAN_FRONTEND=noninteractive
mkdir -p deps
exec 9>deps/apt.lock
flock 9
fetch "the packages$missing" "install these yourself, and go on with NO_DEPS=1" apt_install
