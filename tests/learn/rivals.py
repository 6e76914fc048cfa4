#!/usr/bin/env python3
"""Whether the step-based methods learn: `tce train` on the tasks pendulum and context, beside stable-baselines3.

    rivals.py PROGRAM [--seeds 5] [--jobs 2] [--methods ppo,sac] [--curves] [--out FOLDER]

The settings are examples/configs/pendulum/<method>.yaml and context/sac_mp.yaml. Evaluations of SAC and PINK jump, so two robust
numbers are compared: the mean over seeds of the best of the last three points, and the median over seeds of the first point above a
threshold. With five seeds or more both have to be as good as those of two other implementations; with fewer, every seed has to do
better than a limit that a broken method stays far below, and a policy that cannot learn, trained beside, has to miss it. Exit status 1
when one does not. rivals_learning.csv has the curves of the others; --curves prints ours beside them.
"""

from __future__ import annotations

import argparse
import csv
import os
import statistics
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Dict, List, NamedTuple, Optional, Sequence, Tuple

ROOT = Path(__file__).resolve().parents[2]
ENOUGH_SEEDS = 5
# seconds that a run may take
LIMIT = 1200

Curve = List[Tuple[int, float]]


class Method(NamedTuple):
    """What a method has to reach, and what others did."""

    name: str
    task: str
    bound: float  # of the mean over five seeds
    alone: float  # of every seed, where there are few
    first: int  # steps: the median of the first point above the threshold is at most one point later
    point: int  # steps between evaluations
    theirs: str  # stable-baselines3: mean (worst seed) of the best of the last three, median first point
    numpy: str  # the same of the formulas in NumPy


METHODS = [
    Method("ppo", "pendulum", -250, -320, 49152, 8192, "-213 (-227) 40960", "-217 (-245) 49152"),
    Method("ppo_normalised", "pendulum", -300, -400, 65536, 8192, "-246 (-319) 57344", "-266 (-332) 65536"),
    Method("gsde", "pendulum", -225, -300, 32768, 8192, "-187 (-197) 32768", "-200 (-242) 32768"),
    Method("trpl", "pendulum", -290, -380, 49152, 8192, "-", "-243 (-314) 49152"),
    Method("sac", "pendulum", -165, -200, 4000, 1000, "-157.2 (-159.2) 4000", "-157.9 (-160.4) 4000"),
    Method("sac_parallel", "pendulum", -185, -220, 7000, 1000, "-169 (-182) 7000", "-167 (-177) 7000"),
    Method("pink", "pendulum", -165, -200, 4000, 1000, "-157.2 (-160.7) 4000", "-158.7 (-162.5) 4000"),
    Method("sac_mp", "context", -0.05, -0.08, 3200, 800, "-0.037 (-0.043) 3200", "-0.033 (-0.040) 3200"),
]
THRESHOLD = {"pendulum": -300.0, "context": -0.3}
# what cannot learn, and the method that it stands for
BROKEN = ("ppo", ["policy.learning_rate=1e-12"])


def run(program: str, method: Method, seed: int, folder: Path, words: Sequence[str] = ()) -> Optional[Curve]:
    """The points (environment steps, evaluation return) of one run; None when it failed."""
    config = ROOT / "examples" / "configs" / method.task / f"{method.name}.yaml"
    command = [program, "train", str(config), "--quiet", "--seed", str(seed), "--out", str(folder), "run.threads=1", *words]
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "TCE_PYTHON": "/bin/false"}
    try:
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=LIMIT, stdin=subprocess.DEVNULL)
    except subprocess.TimeoutExpired:
        print(f"{method.name}, seed {seed}: not done after {LIMIT} s")
        return None
    if done.returncode != 0:
        print(f"{method.name}, seed {seed}: {done.stderr.strip()}")
        return None
    with open(folder / "progress.csv", newline="") as file:
        return [(int(row["env_steps"]), float(row["eval_return"])) for row in csv.DictReader(file) if row["eval_return"]]


def best_of_last(curve: Curve) -> float:
    return max(value for _, value in curve[-3:])


def first_above(curve: Curve, threshold: float) -> float:
    """Steps of the first point above it; infinity when there is none."""
    return next((steps for steps, value in curve if value > threshold), float("inf"))


def judge(method: Method, curves: List[Optional[Curve]]) -> Tuple[bool, str]:
    """Whether a method learns, and its row of the table."""
    whole = [curve for curve in curves if curve]
    if len(whole) < len(curves):
        return False, "a run failed"
    best = [best_of_last(curve) for curve in whole]
    first = statistics.median(first_above(curve, THRESHOLD[method.task]) for curve in whole)
    text = f"{statistics.mean(best):.4g} ({min(best):.4g}) {first:g}"
    if len(whole) >= ENOUGH_SEEDS:
        return statistics.mean(best) > method.bound and first <= method.first + method.point, text
    return min(best) > method.alone, text


def spread(values: Sequence[float]) -> str:
    return f"{statistics.mean(values):.4g} [{min(values):.4g}, {max(values):.4g}]"


def print_curves(method: Method, curves: List[Curve]) -> None:
    """Means, least and largest over seeds at every point, beside those of the published file."""
    others: Dict[int, Dict[str, str]] = {}
    with open(Path(__file__).parent / "rivals_learning.csv", newline="") as file:
        for row in csv.DictReader(file):
            if row["method"] == method.name:
                text = f"{float(row['return_mean']):.4g} [{float(row['return_min']):.4g}, {float(row['return_max']):.4g}]"
                others.setdefault(int(row["environment_steps"]), {})[row["source"]] = text
    print(f"\n{method.name}: mean [least, largest]")
    for points in zip(*curves):
        steps = points[0][0]
        theirs = "   ".join(f"{source} {text}" for source, text in others.get(steps, {}).items())
        print(f"{steps:8d}  {spread([value for _, value in points]):32s} {theirs}")


def main() -> int:
    parser = argparse.ArgumentParser(description="whether the step-based methods learn")
    parser.add_argument("program")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--methods", default=",".join(method.name for method in METHODS))
    parser.add_argument("--curves", action="store_true")
    parser.add_argument("--out", help="a folder that keeps the runs")
    arguments = parser.parse_args()
    chosen = [method for method in METHODS if method.name in arguments.methods.split(",")]

    with tempfile.TemporaryDirectory() as temporary, ThreadPoolExecutor(arguments.jobs) as pool:
        folder = Path(arguments.out or temporary)
        runs = {
            method.name: [
                pool.submit(run, arguments.program, method, seed, folder / f"{method.name}-{seed}")
                for seed in range(1, arguments.seeds + 1)]
            for method in chosen}
        broken = [
            pool.submit(run, arguments.program, method, 1, folder / f"{method.name}-broken", BROKEN[1])
            for method in chosen if method.name == BROKEN[0]]

        print(f"best of the last three evaluations: mean over {arguments.seeds} seeds (worst seed), median first point above the threshold")
        print(f"{'method':16s} {'tce':26s} {'stable-baselines3':24s} {'NumPy':24s}")
        failed = 0
        for method in chosen:
            learns, text = judge(method, [one.result() for one in runs[method.name]])
            wanted = f"above {method.alone:g} with every seed"
            if arguments.seeds >= ENOUGH_SEEDS:
                wanted = f"above {method.bound:g}, and above {THRESHOLD[method.task]:g} by step {method.first + method.point}"
            print(f"{method.name:16s} {text:26s} {method.theirs:24s} {method.numpy:24s} {'ok' if learns else 'FAILED, must be ' + wanted}")
            failed += not learns
        for method, one in zip([m for m in chosen if m.name == BROKEN[0]], broken):
            learns, text = judge(method, [one.result()])
            if learns or text == "a run failed":
                print(f"a policy that cannot learn passed as {method.name}: {text}")
                failed += 1
        if arguments.curves:
            for method in chosen:
                curves = [one.result() for one in runs[method.name]]
                print_curves(method, [curve for curve in curves if curve])
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
