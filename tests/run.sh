#!/bin/sh
# Runs test programs, $JOBS at a time, each one's output in one piece; status 1 when any of them failed.
#   WRAP   a command that each program is run under
#   CASES  only these test cases of Check suites
#   LIMIT  seconds a program may take (default 300)

if [ "$1" = --one ]; then
    log=$(mktemp)
    status=0
    for case in ${CASES:-all}; do
        [ "$case" = all ] || export CK_RUN_CASE="$case"
        timeout "${LIMIT:-300}" $WRAP "$2" </dev/null >>"$log" 2>&1 || status=$?
    done
    # one write, so that parallel outputs do not mix; sanitizers can be long-winded, the first report is the one to read
    case $status in
    0) word= ;;
    124) word="$2: stopped after ${LIMIT:-300} s" ;;
    *) word="$2: exit status $status" ;;
    esac
    { grep -v 'Checks: 0,' "$log" | head -n 120; [ -z "$word" ] || echo "$word"; } | dd bs=1M iflag=fullblock status=none
    rm -f "$log"
    [ $status = 0 ]
    exit
fi

if [ $# = 0 ]; then
    echo "run.sh: no programs to run" >&2
    exit 1
fi
printf '%s\n' "$@" | xargs -P "${JOBS:-1}" -n 1 sh "$0" --one || exit 1
