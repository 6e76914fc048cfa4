#!/bin/sh
# learn.sh PROGRAM SEED...: trains the reacher as `make train` does, with each seed; the last evaluation must have more than 0.9 of its episodes succeed.

program=$1
shift
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
export OPENBLAS_NUM_THREADS=1 TCE_PYTHON=/bin/false
status=0
for seed in "$@"; do
    if ! timeout -k 10 "${LIMIT:-900}" "$program" train examples/configs/reacher5/tce.yaml --quiet --seed "$seed" --out "$folder/$seed" \
        </dev/null >"$folder/said" 2>&1; then
        cat "$folder/said"
        status=1
        continue
    fi
    awk -F, -v seed="$seed" '
        NR == 1 { for (i = 1; i <= NF; i++) if ($i == "eval_success") column = i }
        NR > 1 { iteration = $1; steps = $2; success = $column }
        END {
            printf "reacher5/tce, seed %s: success %.3f after %d iterations, %d steps\n", seed, success, iteration, steps
            exit !(column && success > 0.9)
        }' "$folder/$seed/progress.csv" || { echo "the reacher with seed $seed must succeed in more than 0.9 of its episodes"; status=1; }
done
exit $status
