#!/bin/sh
# check.sh [--write] LIBRARY: compares a build with the reference of its soname, kept as text in this folder: the functions of the stable
# nodes of src/libtce.map with their arguments, layouts of public structs, values of statuses and enumerators. New functions, fields
# appended to an open struct and new enumerators are welcome, everything else that changed fails. Headers whose functions are all
# experimental are left out. --write makes this build the reference.

export LC_ALL=C
here=tests/abi
write=
[ "$1" = --write ] && write=1 && shift
library=$1
for tool in abidw abidiff; do
    command -v $tool >/dev/null || {
        echo "$tool is missing, which reads the interface of a library. Install libabigail's tools (Debian: abigail-tools)" >&2
        exit 1
    }
done
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

stable=
for header in include/tce/*.h; do
    grep -q 'TCE_API_EXPERIMENTAL ' "$header" && ! grep -q 'TCE_API ' "$header" || stable="$stable $header"
done

# the library as text: stable functions and public types only, nothing about this machine
{
    echo '[abi_whitelist]'
    awk '/^TCE_/ { stable = !/^TCE_EXPERIMENTAL/ } stable && /^ *tce_[a-z0-9_]*;$/ { sub(";", ""); print }' src/libtce.map
} >"$work/functions"
abidw --kmi-whitelist "$work/functions" --exported-interfaces-only --headers-dir include/tce --drop-private-types --drop-undefined-syms \
    --type-id-style hash --no-elf-needed --no-corpus-path --no-comp-dir-path --no-show-locs --no-parameter-names \
    "$library" >"$work/whole.abi" || exit 1
grep -q '<function-decl' "$work/whole.abi" || {
    echo "$library has no debugging information, from which its types are read: build it with CFLAGS=-g" >&2
    exit 1
}
# abidw knows a public header by its name alone, and shows what a private one of the same name defines
sed -n 's/^typedef struct \(tce_[a-z0-9_]*\) {.*/\1/p' $stable >"$work/structs"
awk -v quote="'" 'NR == FNR { public[$1]; next }
    /<class-decl name=.tce_.*[^\/]>$/ {
        split($0, part, quote)
        if (!(part[2] in public)) {
            sub(/ size-in-bits=.[0-9]*./, "")
            sub(/ id=/, " is-declaration-only=" quote "yes" quote "&")
            sub(/>$/, "/>")
            print
            hidden = 1
        }
    }
    !hidden
    /<\/class-decl>/ { hidden = 0 }' "$work/structs" "$work/whole.abi" >"$work/libtce.abi"

# every enumerator of the headers with its value, by a program that prints them
${CC:-cc} -std=c99 -E -Iinclude include/tce/tce.h |
    awk -v stable="$stable " '/^# / { gsub("\"", "", $3); here = index(stable, " " $3 " "); next } here' | tr '\n' ' ' |
    grep -oE '\benum [a-z_]*\{[^}]*\}|\benum \{[^}]*\}' | grep -oE '\bTCE_[A-Z0-9_]+' | sort -u >"$work/names"
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
lost=$(comm -13 "$work/enumerators.txt" $here/enumerators.txt)
if [ -n "$lost" ]; then
    printf 'enumerators that have gone or changed:\n%s\n' "$lost"
    status=1
fi

# layouts are those of one machine type
if [ "$(uname -m)" != x86_64 ]; then
    echo "$here/libtce.abi is not for $(uname -m): functions and layouts not compared"
else
    abidiff --harmless --no-added-syms --suppressions $here/functions.ini $here/libtce.abi "$work/libtce.abi" >"$work/diff" || {
        cat "$work/diff"
        status=1
    }
    ${PYTHON:-python3} $here/layouts.py $here/libtce.abi "$work/libtce.abi" $stable || status=1
fi
if [ $status = 0 ]; then
    echo "$(grep -c '<elf-symbol ' $here/libtce.abi) functions and $(grep -c . $here/enumerators.txt) enumerators as before"
else
    echo "the binary interface is not that of $here; docs/abi.md says what may change"
fi
exit $status
