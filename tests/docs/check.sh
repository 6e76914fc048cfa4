#!/bin/sh
# check.sh PAGE...: every ```c, ```cpp and ```python block of the pages is a program; builds and runs each. A piece of a program
# says so: ```c piece.
#   OUT  (absolute) folder for the programs      LIB  folder of libtce.so      PYTHON  interpreter with numpy
#   JOBS programs at once
# A page of docs/api has to have the five headings and a C program.

# one program: build it, and run it in a folder of its own, since examples may write files
if [ "$1" = --one ]; then
    file=$2
    program=${file%.*}
    warnings='-Wall -Wextra -Wpedantic -Werror'
    link="-L$LIB -Wl,-rpath,$LIB -ltce -lm -lpthread"
    mkdir "$program.run"
    log=$(
        cd "$TOP" && case $file in
        *.c) ${CC:-cc} -std=c99 -D_POSIX_C_SOURCE=200809L -O1 $warnings -Iinclude "$file" -o "$program" $link ;;
        *.cpp) ${CXX:-g++} -std=c++11 -O1 $warnings -Iinclude -I"$OUT/include" "$file" -o "$program" $link ;;
        *.py) printf '#!/bin/sh\nPYTHONPATH=%s exec %s %s\n' "$TOP/bindings/python" "$PYTHON" "$file" >"$program" && chmod +x "$program" ;;
        esac && cd "$program.run" && TCE_LIBRARY="$LIB/libtce.so" timeout 120 "$program" 2>&1 </dev/null
    ) 2>&1 && exit
    printf '%s\n%s: failed\n' "$log" "$file"
    exit 1
fi

export OUT LIB PYTHON TOP="$PWD"
rm -rf "$OUT"
# as installed: #include <tce/tce.hpp>
mkdir -p "$OUT/include/tce"
cp bindings/cpp/tce.hpp "$OUT/include/tce/"
status=0

for page in "$@"; do
    name=$(echo "${page%.md}" | tr / _)
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

programs=$(ls "$OUT"/*.c "$OUT"/*.cpp "$OUT"/*.py)
echo "$programs" | xargs -P "${JOBS:-1}" -n 1 sh "$0" --one || status=1
echo "$(echo "$programs" | wc -l) programs of $# pages run"
exit $status
