#!/bin/sh
# program.sh PROGRAM [COMMAND ...]: the training system's commands, with tiny runs, under the checkers of memory and threads: each method with a
# resume, a queue that is resumed, evaluation, export, curves, timings. COMMAND is what the program is run under (valgrind, setarch).
# The results of a resumed run must be those of a run in one piece; all else is for the checker to find.

program=$1
shift
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
export OPENBLAS_NUM_THREADS=1 TCE_PYTHON=/bin/false

fail() {
    echo "sanitize: $*" >&2
    [ ! -s "$folder/said" ] || head -n 120 "$folder/said" >&2
    exit 1
}

# tce ARGUMENT...: must end well, and say nothing of a sanitizer
tce() {
    timeout -k 10 "${LIMIT:-300}" $WRAP "$program" "$@" </dev/null >"$folder/said" 2>&1 || fail "tce $*: exit status $?"
    ! grep -q 'Sanitizer\|runtime error\|ERROR SUMMARY' "$folder/said" || fail "tce $*"
}

# refused ARGUMENT...: must end with status 1, which is the program's own
refused() {
    timeout -k 10 "${LIMIT:-300}" $WRAP "$program" "$@" </dev/null >"$folder/said" 2>&1
    status=$?
    [ $status = 1 ] || fail "tce $*: exit status $status, should be 1"
    ! grep -q 'Sanitizer\|runtime error\|ERROR SUMMARY' "$folder/said" || fail "tce $*"
}

WRAP=$*
tiny='--quiet --threads 2 collect.episodes=6 collect.environments=3 policy.epochs=2 critic.epochs=2 evaluate.episodes=4 evaluate.every=2 run.checkpoint_every=1'

for config in reacher5/tce reacher5/bbrl point_via/tce point_via/bbrl; do
    name=$(echo $config | tr / _)
    tce train $config $tiny run.iterations=3 --out "$folder/$name"
    tce train $config $tiny run.iterations=2 --out "$folder/$name.two"
    tce train --quiet --resume "$folder/$name.two" run.iterations=3
    cmp "$folder/$name/progress.csv" "$folder/$name.two/progress.csv" || fail "$config: a resumed run has other numbers"
done

# methods that act at every step, and the one that learns from whole episodes with a replay
steps='--quiet --threads 2 policy.hidden=[8] critic.hidden=[8] evaluate.episodes=4 evaluate.every=2 run.checkpoint_every=1'
on_policy='collect.steps=40 collect.environments=3 policy.epochs=2 update.batch_size=50 collect.on_fault=drop'
off_policy='collect.rounds=20 collect.learning_starts=30 update.batch_size=8 update.replay_size=50'
on_episodes='task.name=point_via mp.tau=1 mp.n_basis=2 collect.episodes=6 collect.environments=3 collect.learning_starts=6 update.gradient_steps=2 update.batch_size=8 update.replay_size=15'
for method in ppo gsde trpl sac pink sac_mp; do
    case $method in
        sac) more="$off_policy task.name=pendulum" ;;
        pink) more="$off_policy task.name=pendulum noise.chunk=30" ;;
        sac_mp) more=$on_episodes ;;
        *) more="$on_policy task.name=pendulum" ;;
    esac
    tce train $steps run.method=$method $more run.iterations=3 --out "$folder/$method"
    tce train $steps run.method=$method $more run.iterations=2 --out "$folder/$method.two"
    tce train --quiet --resume "$folder/$method.two" run.iterations=3
    cmp "$folder/$method/progress.csv" "$folder/$method.two/progress.csv" || fail "$method: a resumed run has other numbers"
    tce eval "$folder/$method" --episodes 2
    tce export "$folder/$method" --out "$folder/export" --onnx
    tce plot "$folder/$method" --no-pictures --episodes 2 --samples 3 --out "$folder/plots"
    tce plot "$folder/$method" --no-pictures --episodes 2 --out "$folder/plots"
done

# other covariances, primitives and projections
tce train point_via/tce $tiny run.iterations=2 policy.covariance=contextual projection.kind=w2 objective.selection=random policy.precision=double \
    --out "$folder/contextual"
tce train point_via/bbrl $tiny run.iterations=2 policy.covariance=diagonal mp.kind=dmp projection.kind=frobenius --out "$folder/dmp"

tce train point_via/tce $tiny run.iterations=2 --seeds 1-3 --jobs 2 --out "$folder/queue"
rm -rf "$folder"/queue/point_via__tce__2__*
sed -i '4s/,done,/,waiting,/' "$folder/queue/queue.csv"
tce train --quiet --resume "$folder/queue"
[ "$(grep -c ,done, "$folder/queue/queue.csv")" = 3 ] || fail "the resumed queue is not done: $(cat "$folder/queue/queue.csv")"

tce eval "$folder/reacher5_tce" --episodes 4
tce export "$folder/reacher5_tce" --out "$folder/export"
tce plot "$folder/reacher5_tce" "$folder/reacher5_tce.two" "$folder/queue" --no-pictures --episodes 2 --out "$folder/plots"
tce bench point_via/tce --iterations 1 --threads 2
tce bench --tasks --task reacher5 --iterations 1 --threads 2
tce tasks
tce config point_via/tce run.seed=5
tce completion bash

# what is refused frees what it had
: >"$folder/reacher5_bbrl/policy.safetensors"
refused eval "$folder/reacher5_bbrl"
refused train point_via/tce $tiny task.name=nothing --out "$folder/nothing"
refused train point_via/tce $tiny mp.disable_goal=true mp.disable_weights=true --out "$folder/nothing"
refused export "$folder/nothing"
echo "the program: each method with a resume, a queue, and all other commands"
