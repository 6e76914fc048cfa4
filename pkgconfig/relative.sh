#!/bin/sh
# relative.sh FROM TO: the path of the folder TO as seen from the folder FROM. Neither needs to be
# there; links are followed as far as there are folders. `realpath --relative-to` is not everywhere.
set -e

# PATH without links, "." and "..", as far as it is there
resolved() {
    there=$1
    rest=
    while [ ! -d "$there" ]; do
        rest=$(basename "$there")/$rest
        there=$(dirname "$there")
    done
    echo "$(cd -P "$there" && pwd)/$rest"
}

if [ -z "$1" ] || [ -z "$2" ]; then
    echo "relative.sh: needs two folders, got '$1' and '$2'" >&2
    exit 1
fi
{ resolved "$1" && resolved "$2"; } | awk '
function parts(path, list,    n, i, m, word) {
    n = split(path, word, "/")
    for (i = 1; i <= n; i++)
        if (word[i] == "..") {
            if (m > 0)
                m--
        } else if (word[i] != "" && word[i] != ".")
            list[++m] = word[i]
    return m + 0
}
NR == 1 { n_from = parts($0, from) }
NR == 2 { n_to = parts($0, to) }
END {
    while (same < n_from && same < n_to && from[same + 1] == to[same + 1])
        same++
    for (i = same; i < n_from; i++)
        out = out (out == "" ? "" : "/") ".."
    for (i = same + 1; i <= n_to; i++)
        out = out (out == "" ? "" : "/") to[i]
    if (NR != 2)
        exit 1
    print out == "" ? "." : out
}'
