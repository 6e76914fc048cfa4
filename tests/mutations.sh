#!/bin/sh
# mutations.sh OUT [SOURCES]: puts small errors into a copy of the library's sources, one at a time, and says which tests of the
# suites and which case files find each. SOURCES is another checkout than the one around this script.
# Status 1 when an error is found by neither, or when a test fails without one.
#   MAKE, JOBS   make, and how many programs run at once

sources=${2:-$(dirname "$0")/..}
copy=$1/copy
make="${MAKE:-make} -s --no-print-directory -C $copy BUILD=build"
unset MAKEFLAGS TCE_GOLDEN TCE_TEST_BUILD
failed=0

rm -rf "$copy"
mkdir -p "$copy"
copy=$(cd "$copy" && pwd)
(cd "$sources" && git ls-files Makefile src include tests examples pkgconfig | tar cf - -T -) | tar xf - -C "$copy"
suites=$(cd "$copy" && ls tests/test_*.c | sed 's/\.c$//')
# all but those of tasks
cases=$(cd "$copy" && ls tests/golden/core_* tests/golden/rivals_* | grep -v pendulum)

# the tests of the suites that fail, and then the case files in which a case does
tests_that_fail()
{
    (cd "$copy" && export TCE_TEST_BUILD="$copy/build/tests" TCE_GOLDEN="$copy/tests/golden" &&
        JOBS=${JOBS:-1} CK_VERBOSITY=normal sh tests/run.sh $(printf 'build/%s ' $suites)) >"$copy/suites.log" 2>&1
    # Running suite(s): mp, and below it  <file>:<line>:F:<case>:<test>:<number>: <message>
    awk '/^Running suite/ { suite = $NF }
         match($0, /^[a-z_\/.]*\.c:[0-9]*:[FE]:/) { split(substr($0, RLENGTH + 1), word, ":"); print suite ": " word[2] }' "$copy/suites.log" |
        sort -u
}

cases_that_fail()
{
    (cd "$copy" && build/replay $cases) >"$copy/replay.log" 2>&1
    sed -n 's/^\([a-z_]*\)\.json\(\.gz\)\{0,1\}:[^ ]* \([a-z_]*\) .*FAIL.*/\1: \3/p' "$copy/replay.log" | sort | uniq -c |
        awk '{ print $2, $3, "(" $1 ")" }'
}

# found by TITLE: prints what fails now, indented; status 1 when nothing does
found()
{
    $make NO_DEPS=1 suites build/replay >"$copy/build.log" 2>&1 || { cat "$copy/build.log"; exit 1; }
    tests_that_fail >"$copy/found"
    cases_that_fail >>"$copy/found"
    sed 's/^/    /' "$copy/found"
    [ -s "$copy/found" ]
}

# mutate FILE OLD NEW: OLD stands in FILE exactly once
mutate()
{
    cp "$copy/$1" "$copy/kept"
    OLD=$2 NEW=$3 awk '
        { at = index($0, ENVIRON["OLD"]) }
        at { n++; $0 = substr($0, 1, at - 1) ENVIRON["NEW"] substr($0, at + length(ENVIRON["OLD"])) }
        { print }
        END { exit n != 1 }' "$copy/kept" >"$copy/$1" || { echo "$1: \"$2\" does not stand there once" >&2; exit 1; }
    echo "$1: $2 -> $3"
    found || { echo "    NOT FOUND"; failed=1; }
    cp "$copy/kept" "$copy/$1"
}

echo "without an error"
! found || exit 1

mutate src/returns/returns.c     'gamma * lambda * go_on'       'gamma * go_on'
mutate src/returns/normalise.c   '(m->n - 1.0)'                 'm->n'
mutate src/segment/advantage.c   '(double)(b - a)) * V_b'       '(double)(b - a - 1)) * V_b'
mutate src/segment/likelihood.c  'log_det += log(S'             'log_det -= log(S'
mutate src/mp/mp_phase.c         '(10.0 + z'                    '(10.1 + z'
mutate src/mp/mp_fit.c           '+= reg'                       '+= 2.0 * reg'
mutate src/net/net_impl.h        'LEAK ((REAL)0.01)'            'LEAK ((REAL)0.02)'
mutate src/net/net_impl.h        'rest2 * (g * g)'              'rest1 * (g * g)'
mutate src/trpl/trpl.c           'sqrt(bound / cov->distance)'  '(bound / cov->distance)'
mutate src/trpl/trpl_frobenius.c '(d_sigma[k] - along'          '(d_sigma[k] + along'

exit $failed
