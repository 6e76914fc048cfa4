#!/bin/sh
# learn.sh RUNS: trains the runs of docs/does-not-learn.md into the folder RUNS and draws its pictures again, in the project's folder,
# after `make program deps-python`. What is there is not trained again. A run takes seconds.
set -eu

runs=$1
python=${TCE_PYTHON:-deps/venv/bin/python}

# run NAME SETTING...
run() {
    name=$1
    shift
    [ -e "$runs/$name/curve.csv" ] || build/bin/tce train point_via/tce --quiet --out "$runs/$name" run.seed=1 "$@"
}

run good
run scale-small mp.goal_scale=0.02 mp.weights_scale=0.02
run scale-large mp.goal_scale=10 mp.weights_scale=10
run bound-small projection.mean_bound=0.001 projection.cov_bound=0.0002
run bound-large projection.mean_bound=3 projection.cov_bound=1
run rate-small policy.learning_rate=1e-5
run rate-large policy.learning_rate=0.05
PYTHONPATH=bindings/python $python docs/images/learn.py "$runs" docs/images
