#!/bin/sh
# check.sh HEADER...: each public header compiles alone, as C99 and as C++11, twice in a row, without a warning, with every
# compiler of gcc and clang that is here. A .hpp is C++ only. Also holds headers to their length.

warnings='-Wall -Wextra -Wpedantic -Werror'
status=0
done=

compile() {
    # $1 compiler, $2 language, $3 standard, $4 header
    printf '#include <%s>\n#include <%s>\nint tce_header_alone;\n' "$4" "$4" |
        $1 -x "$2" -std="$3" $warnings -fsyntax-only -Iinclude -Ibindings/cpp - || {
        echo "$4: does not compile alone as $3 with $1"
        status=1
    }
}

for cc in "${CC:-cc}" gcc clang; do
    command -v "$cc" >/dev/null || continue
    # cc is gcc on most machines: once is enough
    version=$($cc --version | head -n 1 | sed 's/^[^ ]* //')
    case "$done" in *"|$version|"*) continue ;; esac
    done="$done|$version|"
    # the driver compiles C++ too where its C++ half is installed; clang++ and g++ differ only in linking
    cxx=$cc
    echo 'int x;' | $cxx -x c++ -fsyntax-only - 2>/dev/null || cxx=g++
    for header in "$@"; do
        case $header in
        *.hpp) compile "$cxx" c++ c++11 "${header##*/}" ;;
        *)
            compile "$cc" c c99 "tce/${header##*/}"
            compile "$cxx" c++ c++11 "tce/${header##*/}"
            ;;
        esac
    done
    echo "$# headers alone: $cc ($version)"
done

for header in "$@"; do
    lines=$(wc -l <"$header")
    case $header in
    *.h) [ "$lines" -le 250 ] || {
        echo "$header: $lines lines, at most 250"
        status=1
    } ;;
    esac
done
exit $status
