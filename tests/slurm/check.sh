#!/bin/sh
# check.sh TCE TCE_MPI: both files of examples/slurm on a Slurm of this machine, two nodes that are
# started for it by hand, as root. Each job is requeued in the middle, by the administrator and by
# its time limit, and ends with the bytes of a run that was never stopped.
set -e
here=$(cd "$(dirname "$0")" && pwd)
files=$here/../../examples/slurm
TCE=$(realpath "$1")
TCE_MPI=$(realpath "$2")
export TCE TCE_MPI

[ "$(id -u)" = 0 ] || {
    echo "check-slurm: slurmd needs root, which starts the jobs of other users" >&2
    exit 1
}

# the disk that both nodes share; sockets in it must have short names, and /tmp is each node's own
PLACE=$(mktemp -d /var/tmp/tce-slurm-XXXXXX)
chmod 755 "$PLACE"
SLURM_CONF=$PLACE/slurm.conf
export SLURM_CONF
unset SLURM_JOB_ID

stop() {
    status=$?
    scancel --full --user=root 2>/dev/null || :
    for pid in "$PLACE"/*.pid; do
        [ ! -s "$pid" ] || kill "$(cat "$pid")" 2>/dev/null || :
    done
    sleep 1
    if [ $status = 0 ]; then
        rm -rf "$PLACE"
    else
        echo "check-slurm: failed; logs and outputs are in $PLACE" >&2
    fi
    exit $status
}
trap stop EXIT
trap 'exit 1' INT TERM

# ---- the cluster -----------------------------------------------------------------------------------

sed "s|PLACE|$PLACE|g; s|HOST|$(hostname)|g" "$here/slurm.conf" >"$SLURM_CONF"
head -c 128 /dev/urandom >"$PLACE/munge.key"
chmod 400 "$PLACE/munge.key"
mkdir "$PLACE/state" "$PLACE/tmp-n1" "$PLACE/tmp-n2"
munged --force --key-file="$PLACE/munge.key" --socket="$PLACE/munge.socket" --pid-file="$PLACE/munged.pid" \
    --log-file="$PLACE/munged.log" --seed-file="$PLACE/munge.seed" 2>/dev/null
slurmctld
# a source tree below /tmp is there on both nodes
tree=$(cd "$here/../.." && pwd)
shown=
for node in n1 n2; do
    case $tree in
    /tmp/*)
        mkdir -p "$PLACE/tmp-$node/${tree#/tmp/}"
        shown="mount -o bind,ro '$tree' '$PLACE/tmp-$node/${tree#/tmp/}' &&"
        ;;
    esac
    unshare --uts --mount sh -c "hostname $node && $shown mount --rbind $PLACE/tmp-$node /tmp && exec slurmd -N $node"
done

# patience SECONDS COMMAND...: until it succeeds
patience() {
    left=$(($1 * 2))
    shift
    until "$@"; do
        left=$((left - 1))
        [ $left -gt 0 ] || {
            echo "check-slurm: waited in vain for: $*" >&2
            return 1
        }
        sleep 0.5
    done
}

ready() { [ "$(sinfo -h -o %T)" = idle ]; }
patience 30 ready

# ---- what happens to a job -------------------------------------------------------------------------

say() { echo "\$ $*"; }
do_say() {
    say "$@"
    "$@"
}
# what a job has printed, except its iterations
show() {
    say "grep -v ETA $1"
    grep -v ETA "$1"
}
gone() { [ -z "$(squeue -h -j "$1" 2>/dev/null)" ]; }
# rows of the longest progress.csv below a folder
rows() { cat /dev/null "$1"/progress.csv "$1"/*/progress.csv 2>/dev/null | wc -l; }
has_rows() { [ "$(rows "$1")" -gt "$2" ]; }
state_is() { [ -z "$(squeue -h -j "$1" -o %T | grep -v "$2")" ]; }
# start_now JOB MINUTES: a requeued job waits for two minutes otherwise
start_now() {
    patience 120 state_is "$1" PENDING
    for task in $(squeue -h -r -j "$1" -t PENDING -o %i); do
        scontrol update job="$task" TimeLimit="$2" StartTime=now
    done
}
# same WHOLE RUN: what must be the same bytes
same() {
    for name in progress.csv policy.safetensors; do
        cmp "$1/$name" "$2/$name"
    done
    last=$(ls "$1/checkpoints" | grep '^ckpt-' | sort -V | tail -n 1)
    cmp "$1/checkpoints/$last" "$2/checkpoints/$last"
}
cd "$PLACE"

# interrupt JOB FOLDER: by the administrator, then by a time limit of a minute
interrupt() {
    patience 240 has_rows "$2" 30
    do_say squeue
    do_say scontrol requeue "$1"
    start_now "$1" 1
    say "scontrol update job=$1 TimeLimit=1 StartTime=now"
    patience 60 state_is "$1" RUNNING
    patience 240 is_back "$1"
    do_say squeue
    start_now "$1" 60
    say "scontrol update job=$1 TimeLimit=60 StartTime=now"
    patience 600 gone "$1"
}
is_back() { squeue -h -r -j "$1" -t PENDING -o %i | grep -q .; }

# ---- one run over both nodes -----------------------------------------------------------------------

# Open MPI between ranks whose addresses are the same
export OMPI_MCA_btl_tcp_if_include=lo
"$TCE" train point_via/tce run.iterations=1000 run.checkpoint_every=100 run.seed=5 --quiet --out whole

words="--nodes=2 --cpus-per-task=1 --time=60 --signal=TERM@40"
run="point_via/tce run run.iterations=1000 run.checkpoint_every=100 run.seed=5"
job=$(sbatch --parsable $words "$files/one_run.sbatch" $run)
say "sbatch $words examples/slurm/one_run.sbatch $run"
interrupt "$job" run
show "tce-$job.out"
same whole run
echo "# one run over two nodes: the bytes of a run that was never stopped"

# ---- an array of jobs over a queue -----------------------------------------------------------------

queue="point_via/tce --seeds 1-4 run.iterations=500 run.checkpoint_every=100"
"$TCE" train $queue --quiet --out whole-queue

words="--array=1-2 --cpus-per-task=1 --time=60 --signal=TERM@40"
job=$(sbatch --parsable $words "$files/queue_array.sbatch" $queue --resume queue)
say "sbatch $words examples/slurm/queue_array.sbatch $queue --resume queue"
interrupt "$job" queue
for part in 1 2; do
    show "tce-queue-${job}_$part.out"
done
do_say "$TCE" train --resume queue
for seed in 1 2 3 4; do
    same whole-queue/point_via__tce__${seed}__* "queue/point_via__tce__$seed"
done
echo "# an array of two jobs over a queue of four runs: the bytes of a queue that was never stopped"
