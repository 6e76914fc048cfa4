#!/bin/sh
# check.sh [--write] LIBRARY: compares functions and public layouts of a build with those of the last release, kept as text in
# this folder; new functions are welcome, everything else that changed fails. --write makes this build the reference.

here=tests/abi
baseline=$here/libtce-0.1.abi

if [ "$1" = --write ]; then
    abidw --headers-dir include/tce --drop-private-types --no-corpus-path --no-comp-dir-path --no-show-locs "$2" |
        sed "s/ elf-needed='[^']*'//" >"$baseline" && echo "wrote $baseline: $(wc -l <"$baseline") lines"
    exit
fi

# the file describes one machine type
if ! grep -q "architecture='elf-amd-x86_64'" "$baseline" || [ "$(uname -m)" != x86_64 ]; then
    echo "$baseline is not for $(uname -m): layouts not compared"
    exit 0
fi
if ! abidiff --headers-dir2 include/tce --drop-private-types --no-added-syms --suppressions $here/growth.ini "$baseline" "$1"; then
    echo "the binary interface differs from $baseline; docs/abi.md says what may change"
    exit 1
fi
echo "layouts and functions as in $baseline"
