#!/bin/sh
# check.sh REPLAY: the cases of the library's own numbers pass, all of them; then what the program says and how it ends, for
# cases that pass, fail, or cannot be read.
#   WRAP   a command that the program is run under

replay=$1
golden=${TCE_GOLDEN:-tests/golden}
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
failed=0

# expect STATUS LAST_LINE WORD FILE...: the exit status, the last line, and a word somewhere in the output
expect()
{
    want_status=$1 want_last=$2 word=$3
    shift 3
    $WRAP "$replay" "$@" >"$dir/out" 2>&1
    status=$?
    last=$(tail -n 1 "$dir/out")
    if [ "$status" != "$want_status" ] || [ "$last" != "$want_last" ] || ! grep -q -- "$word" "$dir/out"; then
        echo "replay $*: exit status $status, \"$last\"; expected $want_status, \"$want_last\" and \"$word\"" >&2
        failed=1
    fi
}

# the numbers of the original implementations, and none of them left out
expect 0 "21 passed, 0 failed" ok "$golden/core_mp.json"
expect 0 "3 passed, 0 failed" ok "$golden/core_network.json"
expect 0 "1 passed, 0 failed" ok "$golden/core_objective.json"
expect 0 "83 passed, 0 failed" ok "$golden/core_options.json"
expect 0 "48 passed, 0 failed" ok "$golden/core_projection.json"
expect 0 "2 passed, 0 failed" ok "$golden/core_update.json"

# fits are ten times better than their tolerance: the normal equations of the cases have condition numbers up to 1e7
$WRAP "$replay" "$golden/core_mp.json" "$golden/core_options.json" 2>&1 |
    awk '$2 ~ /_fit$/ { n++; if ($(NF - 2) > 1e-9) { print "a fit is further off than 1e-9: " $0; bad = 1 } }
         END { if (n < 5) print n + 0 " fits, expected 5"; exit bad || n < 5 }' >&2 || failed=1

# plain and compressed, alone and together
gzip -c "$golden/core_network.json" >"$dir/network.json.gz"
expect 0 "3 passed, 0 failed" "core_network.json:0 mlp_adam relu .* ok" "$golden/core_network.json"
expect 0 "3 passed, 0 failed" "network.json.gz:2 mlp_adam tanh .* ok" "$dir/network.json.gz"
expect 0 "6 passed, 0 failed" "ok" "$golden/core_network.json" "$dir/network.json.gz"

# numbers: right, wrong, none, and a gradient that is zero except for rounding
schedule='"kind": "entropy_schedule", "schedule": "linear", "initial": 4, "target": 2, "iteration": 5, "iterations": 10, "dim": 3'
echo "[{$schedule, \"bound\": 3}]" >"$dir/right.json"
echo "[{$schedule, \"bound\": 3}, {$schedule, \"bound\": 3.0000001}]" >"$dir/wrong.json"
echo "[{$schedule}]" >"$dir/nothing.json"
expect 0 "1 passed, 0 failed" "entropy_schedule linear  0.00e+00  1e-08  ok" "$dir/right.json"
expect 1 "1 passed, 1 failed" "FAIL bound" "$dir/wrong.json"
expect 1 "0 passed, 1 failed" "nothing to compare" "$dir/nothing.json"
control='"kind": "entropy_control", "equality": 1, "chol": [[2]], "bound": 1, "d_result": [[1]]'
echo "[{$control, \"grad_chol\": [[1e-16]]}, {$control, \"grad_chol\": [[1e-10]]}]" >"$dir/rounding.json"
expect 1 "1 passed, 1 failed" "FAIL grad_chol" "$dir/rounding.json"

# what cannot be replayed fails, and says why
echo '[{"kind": "no_such_kind", "numbers": [1]}]' >"$dir/unknown.json"
echo '[{"kind": "returns", "rewards": [1]}]' >"$dir/malformed.json"
echo '[{"kind": "returns"' >"$dir/cut.json"
echo '{}' >"$dir/object.json"
head -c 1000 "$dir/network.json.gz" >"$dir/cut.json.gz"
expect 1 "0 passed, 1 failed" "unknown kind" "$dir/unknown.json"
expect 1 "3 passed, 1 failed" "unknown kind" "$dir/unknown.json" "$golden/core_network.json"
expect 1 "0 passed, 1 failed" "FAIL" "$dir/malformed.json"
expect 1 "0 passed, 1 failed" "FAIL" "$dir/cut.json"
expect 1 "0 passed, 1 failed" "not a list of cases" "$dir/object.json"
expect 1 "0 passed, 1 failed" "FAIL" "$dir/cut.json.gz"
expect 1 "0 passed, 1 failed" "cannot be read" "$dir/missing.json"

# a desired path needs its velocities, and no actions beside it
gzip -dc "$golden/fancy_hopper_jump_paths.json.gz" >"$dir/path.json"
sed 's/"desired_vel"/"desired_speed"/' "$dir/path.json" >"$dir/no_velocity.json"
sed 's/"desired_vel"/"actions": [], &/' "$dir/path.json" >"$dir/both.json"
expect 1 "0 passed, 1 failed" '"desired_vel" is missing' "$dir/no_velocity.json"
expect 1 "0 passed, 1 failed" 'both "actions" and "desired_pos"' "$dir/both.json"

# an error that a case expects
time_points='"kind": "time_points", "T": 10, "K": 1, "first": 0, "indices": [0]'
echo "[{$time_points, \"error\": \"TCE_E_VALUE\"}, {$time_points}]" >"$dir/error.json"
expect 1 "1 passed, 1 failed" "TCE_E_VALUE" "$dir/error.json"

[ $failed = 0 ] && echo "replay: outputs and exit statuses as expected"
exit $failed
