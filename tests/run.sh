#!/bin/sh
# Runs test programs, $JOBS at a time, each one's output in one piece; status 1 when any of them failed.
#   WRAP   a command that each program is run under
#   LIMIT  seconds a program may take (default 300)

if [ "$1" = --one ]; then
    log=$(mktemp)
    timeout "${LIMIT:-300}" $WRAP "$2" </dev/null >"$log" 2>&1
    status=$?
    # one write, so that parallel outputs do not mix; sanitizers can be long-winded, the first report is the one to read
    if [ $status = 0 ]; then
        cat "$log"
    else
        { head -n 120 "$log"; echo "$2: exit status $status"; } | dd bs=1M iflag=fullblock status=none
    fi
    rm -f "$log"
    [ $status = 0 ]
    exit
fi

if [ $# = 0 ]; then
    echo "run.sh: no programs to run" >&2
    exit 1
fi
printf '%s\n' "$@" | xargs -P "${JOBS:-1}" -n 1 sh "$0" --one || exit 1
