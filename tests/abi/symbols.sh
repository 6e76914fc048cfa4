#!/bin/sh
# symbols.sh LIBRARY MAP: the functions that the public headers mark with TCE_API, those listed in the version map and
# those that the library exports are the same.

export LC_ALL=C
library=$1
map=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# declarations with default visibility, one a line; the name is what stands before the first parenthesis after tce_
${CC:-cc} -std=c99 -E -P -Iinclude include/tce/tce.h | tr '\n' ' ' | tr ';' '\n' | grep 'visibility("default")' |
    grep -oE '\btce_[a-z0-9_]+ *\(' | tr -d ' (' | sort >"$work/headers"
sed -n 's/^ *\(tce_[a-z0-9_]*\);$/\1/p' "$map" | sort >"$work/map"
nm -D --defined-only "$library" | awk '$2 != "A" { sub("@.*", "", $3); print $3 }' | sort >"$work/library"

status=0
for side in map library; do
    if ! diff "$work/headers" "$work/$side" >"$work/diff"; then
        echo "headers (<) and $side (>) differ:"
        grep '^[<>]' "$work/diff"
        status=1
    fi
done
[ $status = 0 ] && echo "$(wc -l <"$work/headers") public functions: headers, map and library agree"
exit $status
