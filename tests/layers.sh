#!/bin/sh
# layers.sh: includes point one way. A module of the library, its sources and its headers, includes only itself and lower ones, and CBLAS and LAPACKE are
# called in linalg alone. A room of the trainer includes only itself, rooms to its left and the library's public headers.
# ranks_mpi.c alone calls MPI, and no method calls ranks.h.

failed=0

awk '
BEGIN {
    n = split("base linalg store gauss mp trpl returns segment normaliser net policy env rollout", order, " ")
    for (i = 1; i <= n; i++)
        level[order[i]] = i
    # headers that are not named after their module
    module["version"] = module["status"] = module["random"] = module["pool"] = "base"
    module["adam"] = "net"
}
function owner(name) { return name in module ? module[name] : name }
FNR == 1 {
    count = split(FILENAME, part, "/")
    here = FILENAME ~ /^src/ ? part[2] : owner(substr(part[count], 1, length(part[count]) - 2))
    files++
    if (!(here in level)) {
        print FILENAME ": no module of that name in the order"
        bad = 1
    }
}
/^[ \t]*#[ \t]*include/ {
    there = ""
    if (match($0, /<tce\/[a-z_]+\.h>/))
        there = owner(substr($0, RSTART + 5, RLENGTH - 8))
    else if (match($0, /"[a-z_]+\//))
        there = substr($0, RSTART + 1, RLENGTH - 2)
    if (there != "" && (!(there in level) || level[there] > level[here])) {
        print FILENAME ":" FNR ": " here " may not include " there
        bad = 1
    }
    if ($0 ~ /cblas|lapack|openblas/ && here != "linalg") {
        print FILENAME ":" FNR ": only linalg calls CBLAS and LAPACKE"
        bad = 1
    }
}
/(cblas|LAPACKE|openblas)_[a-z0-9_]+[ \t]*\(/ && here != "linalg" {
    print FILENAME ":" FNR ": only linalg calls CBLAS and LAPACKE"
    bad = 1
}
END {
    if (!bad)
        print files " files of the library: every include points down"
    exit bad
}' src/*/*.[ch] $(ls include/tce/*.h | grep -v '/tce\.h$') || failed=1

awk '
BEGIN {
    n = split("tools settings collect methods run report embed queue export commands", order, " ")
    for (i = 1; i <= n; i++)
        level[order[i]] = i
}
/<mpi\.h>/ && FILENAME != "examples/trainer/tools/ranks_mpi.c" {
    print FILENAME ":" FNR ": only ranks_mpi.c calls MPI"
    bad = 1
}
FNR == 1 {
    split(FILENAME, part, "/")
    here = part[3]
    files++
    if (!(here in level)) {
        print FILENAME ": no room of that name in the order"
        bad = 1
    }
}
/^[ \t]*#[ \t]*include[ \t]*"/ {
    split($0, quoted, "\"")
    there = quoted[2]
    # tce bench steps the physics of the tasks without the library between
    if (here == "commands" && there ~ /^\.\.\/\.\.\/tasks\//)
        next
    if (there !~ /^[a-z]+\/[a-z0-9_]+\.h$/) {
        print FILENAME ":" FNR ": \"" there "\" must be \"room/header.h\""
        bad = 1
        next
    }
    if (here == "methods" && there == "tools/ranks.h") {
        print FILENAME ":" FNR ": a method sees ranks through collect and pools alone"
        bad = 1
    }
    sub(/\/.*/, "", there)
    if (!(there in level) || level[there] > level[here]) {
        print FILENAME ":" FNR ": " here " may not include " there
        bad = 1
    }
}
END {
    if (!bad)
        print files " files of the trainer: every include points left"
    exit bad
}' examples/trainer/*/*.[ch] || failed=1

exit $failed
