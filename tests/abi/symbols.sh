#!/bin/sh
# symbols.sh LIBRARY MAP: the functions that the public headers mark with TCE_API or TCE_API_EXPERIMENTAL, those listed in the version
# map and those that the library exports are the same; under the node TCE_EXPERIMENTAL are those that are marked so.

export LC_ALL=C
library=$1
map=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# the two markers as words, then one declaration per line; the name is what stands before the first parenthesis after tce_
mkdir "$work/tce"
for header in include/tce/*.h; do
    sed -e 's/^#define TCE_API .*/#define TCE_API marked_stable/' -e 's/^#define TCE_API_EXPERIMENTAL .*/#define TCE_API_EXPERIMENTAL marked_experimental/' \
        "$header" >"$work/tce/${header##*/}"
done
${CC:-cc} -std=c99 -E -P -I"$work" "$work/tce/tce.h" | tr '\n' ' ' | tr ';' '\n' >"$work/declarations"
for node in stable experimental; do
    grep "marked_$node" "$work/declarations" | sed "s/.*marked_$node//" | grep -oE '\btce_[a-z0-9_]+ *\(' | sed "s/ *($/ $node/"
done | sort >"$work/headers"
awk '/^TCE_/ { node = /^TCE_EXPERIMENTAL/ ? "experimental" : "stable" } /^ *tce_[a-z0-9_]*;$/ { sub(";", ""); print $1, node }' "$map" | sort >"$work/map"
nm -D --defined-only "$library" |
    awk '$2 != "A" { node = $3 ~ /@TCE_EXPERIMENTAL$/ ? "experimental" : "stable"; sub("@.*", "", $3); print $3, node }' | sort >"$work/library"

status=0
for side in map library; do
    if ! diff "$work/headers" "$work/$side" >"$work/diff"; then
        echo "headers (<) and $side (>) differ:"
        grep '^[<>]' "$work/diff"
        status=1
    fi
done
[ $status = 0 ] && echo "$(grep -c ' stable$' "$work/headers") public functions and $(grep -c ' experimental$' "$work/headers") experimental ones: headers, map and library agree"
exit $status
