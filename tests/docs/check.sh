#!/bin/sh
# check.sh PAGE...: every ```c, ```cpp and ```python block of the pages is a program; builds and runs each.
#   OUT  (absolute) folder for the programs      LIB  folder of libtce.so      PYTHON  interpreter with numpy
# A page of docs/api has to have the five headings and a C program.

mkdir -p "$OUT"
rm -rf "$OUT"/*
# as installed: #include <tce/tce.hpp>
mkdir -p "$OUT/include/tce"
cp bindings/cpp/tce.hpp "$OUT/include/tce/"
status=0
warnings='-Wall -Wextra -Wpedantic -Werror'
link="-L$LIB -Wl,-rpath,$LIB -ltce -lm -lpthread"

for page in "$@"; do
    name=$(basename "$page" .md)
    awk -v base="$OUT/$name" -v page="$page" '
        BEGIN { ending["c"] = "c"; ending["cpp"] = "cpp"; ending["python"] = "py" }
        /^```/ && file != "" { close(file); file = ""; next }
        /^```/ {
            language = substr($0, 4)
            if (language in ending) {
                file = base "_" ++n "." ending[language]
                # messages of the compiler point into the page
                if (language != "python")
                    printf "#line %d \"%s\"\n", FNR + 1, page >file
            }
            next
        }
        file != "" { print >file }' "$page"
    case $page in
    docs/api/*)
        for heading in Purpose Mathematics 'Life cycle' Functions Example; do
            grep -q "^##* $heading\$" "$page" || {
                echo "$page: no heading $heading"
                status=1
            }
        done
        ls "$OUT/${name}_"*.c >/dev/null 2>&1 || {
            echo "$page: no C program"
            status=1
        }
        ;;
    esac
done

programs=
for file in "$OUT"/*.c "$OUT"/*.cpp "$OUT"/*.py; do
    [ -f "$file" ] || continue
    program=${file%.*}
    case $file in
    *.c) ${CC:-cc} -std=c99 -D_POSIX_C_SOURCE=200809L -O1 $warnings -Iinclude "$file" -o "$program" $link ;;
    *.cpp) ${CXX:-g++} -std=c++11 -O1 $warnings -Iinclude -I"$OUT/include" "$file" -o "$program" $link ;;
    *.py) printf '#!/bin/sh\nPYTHONPATH=%s exec %s %s\n' "$PWD/bindings/python" "$PYTHON" "$file" >"$program" && chmod +x "$program" ;;
    esac || {
        echo "$program: does not compile"
        status=1
        continue
    }
    programs="$programs $program"
done

# in a folder of their own: examples may write files
export TCE_LIBRARY="$LIB/libtce.so"
for program in $programs; do
    log=$(cd "$OUT" && timeout 120 "$program" 2>&1 </dev/null) || {
        echo "$log"
        echo "$program: failed"
        status=1
    }
done
echo "$(echo $programs | wc -w) programs of $# pages run"
exit $status
