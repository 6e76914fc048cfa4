#!/bin/sh
# check.sh [--write] LIBRARY: compares a build with what the last release promised, kept as text in this folder: functions with their
# arguments, layouts of public structs, values of statuses and enumerators. New functions, fields appended to an open struct and new
# enumerators are welcome, everything else that changed fails. --write makes this build the reference. Without a reference, as before
# the first release, there is nothing to compare.

export LC_ALL=C
here=tests/abi
write=
[ "$1" = --write ] && write=1 && shift
library=$1
if [ -z "$write" ] && [ ! -e $here/libtce.abi ]; then
    echo "nothing is released yet: no reference in $here to compare with"
    exit 0
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# the library as text: public types only, nothing about this machine
abidw --headers-dir include/tce --drop-private-types --no-corpus-path --no-comp-dir-path --no-show-locs "$library" |
    sed "s/ elf-needed='[^']*'//" >"$work/libtce.abi" || exit 1

# every enumerator of the headers with its value, by a program that prints them
${CC:-cc} -std=c99 -E -P -Iinclude include/tce/tce.h | tr '\n' ' ' | grep -oE '\benum [a-z_]*\{[^}]*\}|\benum \{[^}]*\}' |
    grep -oE '\bTCE_[A-Z0-9_]+' | sort -u >"$work/names"
{
    printf '#include <stdio.h>\n#include <tce/tce.h>\nint main(void)\n{\n'
    sed 's/.*/    printf("& %d\\n", (int)&);/' "$work/names"
    printf '    return 0;\n}\n'
} >"$work/values.c"
${CC:-cc} -std=c99 -Iinclude "$work/values.c" -o "$work/values" && "$work/values" >"$work/enumerators.txt" || exit 1

if [ -n "$write" ]; then
    cp "$work/libtce.abi" "$work/enumerators.txt" $here/
    wc -l $here/libtce.abi $here/enumerators.txt
    exit
fi

status=0
# a reference line that is gone: an enumerator was removed or has another value
lost=$(sort "$work/enumerators.txt" | comm -13 - $here/enumerators.txt)
if [ -n "$lost" ]; then
    printf 'enumerators that have gone or changed:\n%s\n' "$lost"
    status=1
fi

# layouts are those of one machine type
if [ "$(uname -m)" != x86_64 ]; then
    echo "$here/libtce.abi is not for $(uname -m): layouts not compared"
else
    abidiff --no-added-syms --suppressions $here/functions.ini $here/libtce.abi "$work/libtce.abi" >"$work/diff" || {
        cat "$work/diff"
        status=1
    }
    ${PYTHON:-python3} $here/layouts.py $here/libtce.abi "$work/libtce.abi" include/tce/*.h || status=1
fi
[ $status = 0 ] || echo "the binary interface is not that of $here; docs/abi.md says what may change"
[ $status = 0 ] && echo "functions and $(wc -l <$here/enumerators.txt) enumerators as before"
exit $status
