#!/bin/sh
# Draws pictures of the documentation again: sh docs/images/draw.sh [NAME ...], in the project's folder,
# after `make program deps-python`; without a name, all of them. Curves are drawn from the numbers beside
# them, NAME-curves.csv with NAME-published.csv over it; the commands in docs/results.md make the numbers.
set -eu

images=docs/images
python=${TCE_PYTHON:-deps/venv/bin/python}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# eval NAME RUN SEED MORE...: the first episode with that seed
eval_run() {
    name=$1 run=$2 seed=$3
    shift 3
    build/bin/tce eval "docs/runs/$run" --episodes 20 --seed "$seed" "$@" >"$scratch/eval.txt"
}

draw() {
    case $1 in
    reacher5.png)
        eval_run "$1" reacher5/tce-1 6 --moments 6 --size 800x600 --picture "$images/$1" ;;
    hopper_jump.png)
        eval_run "$1" hopper_jump/tce-1 1 --moments 6 --size 640x480 --picture "$images/$1" ;;
    table_tennis.png)
        eval_run "$1" table_tennis/tce-1 3 --moments 8 --size 800x600 --picture "$images/$1" ;;
    box_pushing.png)
        eval_run "$1" box_pushing_dense/tce-1 1 --size 800x600 --picture "$images/$1" ;;
    box_pushing.gif)
        eval_run "$1" box_pushing_dense/tce-1 1 --video-episodes 3 --size 600x450 --video "$images/$1" ;;
    metaworld.png)
        PYTHONPATH=bindings/python $python $images/metaworld.py "$images/$1" ;;
    exploration.png)
        PYTHONPATH=bindings/python $python examples/python/exploration.py "$images/$1" ;;
    learn-*.png)
        sh $images/learn.sh "${TMPDIR:-/tmp}/tce-learn" ;;
    *-correlation.png)
        task=${1%-correlation.png}
        build/bin/tce plot "docs/runs/$task/tce-1" --episodes 1 --no-pictures --out "$scratch/$1" >/dev/null
        mv "$scratch/$1"/correlation_*.csv "$scratch/correlation_$task.csv"
        rm "$scratch/$1"/*
        mv "$scratch/correlation_$task.csv" "$scratch/$1/"
        $python bindings/python/tce/plot.py --quiet "$scratch/$1"
        cp "$scratch/$1"/correlation_*.png "$images/$1" ;;
    *-curves.png)
        mkdir "$scratch/$1"
        cp "$images/${1%.png}.csv" "$scratch/$1/curves.csv"
        if [ -f "$images/${1%-curves.png}-published.csv" ]; then
            # the columns' names are those of the curves
            { head -n 1 "$scratch/$1/curves.csv" | cut -d, -f4,5 | sed 's/^/source,method,/'
              tail -n +2 "$images/${1%-curves.png}-published.csv"; } >"$scratch/$1/over.csv"
        fi
        $python bindings/python/tce/plot.py --quiet "$scratch/$1"
        cp "$scratch/$1/curves.png" "$images/$1" ;;
    *)
        echo "$1: no picture of $images" >&2
        exit 2 ;;
    esac
    echo "$images/$1"
}

if [ $# -eq 0 ]; then
    set -- $(cd $images && ls -- *.png *.gif)
fi
for picture; do
    draw "$picture"
done
