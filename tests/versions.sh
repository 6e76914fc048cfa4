#!/bin/sh
# versions.sh: every version number stands once: libtce's own in include/tce/version.h, those of what make fetches in
# examples/setup/versions. Where a file format needs a copy of it, the copy is the same.

failed=0
wrong()
{
    echo "$1" >&2
    failed=1
}

# all sources that are read by a machine; documents say what was measured with which version
sources=$(git ls-files Makefile CMakeLists.txt package.xml .ci include src examples bindings tests |
    grep -v -e '^tests/golden/' -e '^tests/trainer/golden/' -e '/corpus/' -e '\.yaml$' -e '\.png$' -e '\.safetensors$' -e '\.md$')

# once NAME VERSION HOME COPIES: VERSION stands in HOME, in the files COPIES, and in no other file as a version of NAME
once()
{
    pattern=$(echo "$2" | sed 's/\./\\./g')
    for file in $(grep -lE "(^|[^0-9.])$pattern([^0-9.]|\$)" $sources); do
        case " $3 $4 " in
        *" $file "*) ;;
        *) # numbers of others, as pinned wheels, may be equal
            grep -E "(^|[^0-9.])$pattern([^0-9.]|\$)" "$file" | grep -qiE "$1" || continue
            wrong "$file: version $2 of $1 stands here too: read it from $3" ;;
        esac
    done
}

own=$(awk '/define TCE_VERSION_(MAJOR|MINOR|PATCH) / { v = v s $3; s = "." } END { print v }' include/tce/version.h)
once 'tce|version' "$own" include/tce/version.h package.xml
grep -q "<version>$own</version>" package.xml || wrong "package.xml: its version is not $own, that of include/tce/version.h"

awk '/^[a-z]/ { print $1, $2 }' examples/setup/versions >"${TMPDIR:-/tmp}/versions.$$"
while read -r name version; do
    # requirements in pip's formats
    pinned=$(echo $(grep -lE "(^|\")$name==" tests/oracle/*.txt tests/python/requirements.txt bindings/python/pyproject.toml))
    once "$name" "$version" examples/setup/versions "$pinned"
    # as MuJoCo's header writes it
    [ "$name" != mujoco ] ||
        once mjVERSION "$(echo "$version" | awk -F . '{ print $2 < 10 ? $1 $2 $3 : 1000000 * $1 + 1000 * $2 + $3 }')" examples/setup/versions
    usual=$(awk -v name="$name" '$1 == name { print $2; exit }' examples/setup/versions)
    for file in $pinned; do
        grep -qE "(^|\")$name==$usual( |\"|\$)" "$file" || wrong "$file: $name is not $usual, that of examples/setup/versions"
    done
done <"${TMPDIR:-/tmp}/versions.$$"
rm -f "${TMPDIR:-/tmp}/versions.$$"

[ $failed = 0 ] && echo "every version number stands once"
exit $failed
