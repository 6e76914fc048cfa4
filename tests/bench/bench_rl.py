#!/usr/bin/env python3
"""Environment steps per second of whole training: `tce train`, what bounds it, and the peers (stable-baselines3, rltools) where they are installed.

    bench_rl.py PROGRAM BENCH [--peers PYTHON] [--rounds 3] [--cases ppo,sac] [--strict]

The settings are those of examples/configs/pendulum and examples/configs/box_pushing_dense. The bound is measured in the same run, on
the same kernels, by the program BENCH: what the h x h products of an update and the simulation take, and nothing else. Sides take
turns within each round; the table has the medians. --strict: exit status 1 when a goal is missed.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Callable, Dict, List, NamedTuple, Optional, Sequence

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(Path(__file__).resolve().parent))
from bench import Server  # noqa: E402

EPOCHS = 10
# products of an h x h layer: forward, gradient of the weights, gradient of the inputs
PASSES = 3
# SAC's per update: two critics forward and backward, two targets, the next action, the actor, the critics under it
SAC_PRODUCTS = 16


class Case(NamedTuple):
    """A training that is timed, and what it has to reach."""

    name: str
    preset: str
    method: str
    words: List[str]
    iterations: int
    skip: int  # first iterations that do not count
    hidden: int
    batch: int
    environments: int
    rollout: int
    peer_steps: int
    peer_begin: int
    peer_task: str
    threads: int
    ratio: Optional[float]  # goal against stable-baselines3
    share: Optional[float]  # goal of the bound


CASES = [
    Case("ppo", "pendulum/ppo", "ppo", [], 40, 4, 64, 128, 16, 128, 20480, 4096, "pendulum", 1, 10.0, None),
    Case("sac", "pendulum/sac", "sac", ["run.iterations=6"], 6, 2, 64, 128, 1, 1, 3000, 1000, "pendulum", 1, 20.0, None),
    Case("sac_256", "pendulum/sac", "sac", ["policy.hidden=[256, 256]", "critic.hidden=[256, 256]", "update.batch_size=256"], 4, 2, 256, 256, 1, 1,
         2000, 1000, "pendulum", 1, 2.7, 0.8),
    Case("sac_256, 2 threads", "pendulum/sac", "sac", ["policy.hidden=[256, 256]", "critic.hidden=[256, 256]", "update.batch_size=256"], 4, 2, 256, 256,
         1, 1, 2000, 1000, "pendulum", 2, None, None),
    Case("ppo, box_pushing_dense", "box_pushing_dense/ppo", "ppo", [], 2, 0, 512, 1200, 40, 1200, 48000, 1, "tce/BoxPushingDense-v0", 1, 1.5, 0.85),
]
# rates of a case against those of another one
GAINS = {"sac_256, 2 threads": ("sac_256", 1.4)}


def train(program: str, case: Case) -> float:
    """Steps per second of the iterations that count, evaluations left out."""
    with tempfile.TemporaryDirectory() as folder:
        command = [program, "train", str(ROOT / "examples" / "configs" / f"{case.preset}.yaml"), "--quiet", "--out", f"{folder}/run",
                   f"run.iterations={case.iterations}", f"run.threads={case.threads}", "run.checkpoint_every=1000000", "evaluate.every=0",
                   "evaluate.episodes=1", *[word for word in case.words if not word.startswith("run.iterations")]]
        done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "TCE_PYTHON": "/bin/false"})
        if done.returncode != 0:
            raise SystemExit(f"bench_rl: {case.name}: {done.stderr.strip()}")
        with open(f"{folder}/run/timing.csv", newline="") as file:
            seconds = [float(row["total"]) - float(row["evaluation"]) for row in csv.DictReader(file)]
        with open(f"{folder}/run/progress.csv", newline="") as file:
            steps = [int(row["env_steps"]) for row in csv.DictReader(file)]
        return (steps[-1] - steps[case.skip]) / sum(seconds[case.skip:])


def kernels(program: str) -> str:
    """Which kernels of OpenBLAS the program takes, by what a run of one iteration records; "" when it cannot tell."""
    with tempfile.TemporaryDirectory() as folder:
        words = ["run.iterations=1", "collect.episodes=1", "collect.environments=1", "evaluate.episodes=1", "policy.epochs=1", "critic.epochs=1"]
        subprocess.run([program, "train", str(ROOT / "examples/configs/point_via/bbrl.yaml"), "--quiet", "--out", f"{folder}/run", *words],
                       capture_output=True, env={**os.environ, "TCE_PYTHON": "/bin/false"})
        file = Path(folder, "run", "config.yaml")
        found = re.search(r"^# kernels: (\S+)", file.read_text() if file.exists() else "", re.MULTILINE)
        return found.group(1) if found else ""


def simulation(program: str, task: str) -> float:
    """Seconds of a step of a task of ours, in one thread."""
    done = subprocess.run([program, "bench", "--tasks", "--task", task, "--threads", "1", "--json", "--iterations", "3"], capture_output=True, text=True)
    return 1e-6 * json.loads(done.stdout.splitlines()[-1])["microseconds_per_step"] if done.returncode == 0 else 0.0


def bound(server: Server, program: str, case: Case) -> float:
    """Steps per second if training were its h x h products and the simulation alone."""

    def product(rows: int) -> float:
        return server(f"product {rows} {case.hidden} {case.hidden}")

    if case.method == "sac":
        return 1.0 / (SAC_PRODUCTS * product(case.batch))
    step = 2 * EPOCHS * PASSES * product(case.batch) / case.batch + 2 * product(case.environments) / case.environments
    return 1.0 / (step + (simulation(program, "box_pushing_dense") if "box" in case.name else 0.0))


def peer(python: str, package: str, case: Case) -> Optional[float]:
    command = [python, str(Path(__file__).with_name("rl_peer.py")), package, case.method, "--task", case.peer_task,
               "--steps", str(case.peer_steps), "--begin", str(case.peer_begin), "--environments", str(case.environments),
               "--rollout", str(case.rollout), "--hidden", str(case.hidden), "--batch", str(case.batch), "--threads", str(case.threads)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "bindings" / "python")}
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    if done.returncode != 0:
        print(f"{package}, {case.name}: {done.stderr.strip().splitlines()[-1:]}")
        return None
    return float(done.stdout.split()[-1])


def median(values: Sequence[Optional[float]]) -> Optional[float]:
    there = [value for value in values if value is not None]
    return statistics.median(there) if there else None


def number(value: Optional[float]) -> str:
    return "-" if value is None else f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def times(rate: float, other: Optional[float]) -> str:
    return "-" if other is None else f"{rate / other:.2g} x"


def judge(case: Case, ours: Dict[str, float], limit: Optional[float], theirs: Optional[float]) -> List[str]:
    """What a case has to reach, and whether it did; the last word of each is "met" or "MISSED"."""
    found = []
    if case.ratio is not None and theirs is not None:
        found.append(f">= {case.ratio:g} x stable-baselines3: {'met' if ours[case.name] >= case.ratio * theirs else 'MISSED'}")
    if case.share is not None and limit is not None:
        found.append(f">= {100 * case.share:g} % of the bound: {'met' if ours[case.name] >= case.share * limit else 'MISSED'}")
    if case.name in GAINS and GAINS[case.name][0] in ours:
        other, factor = GAINS[case.name]
        found.append(f">= {factor:g} x one thread: {'met' if ours[case.name] >= factor * ours[other] else 'MISSED'}")
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("bench")
    parser.add_argument("--peers", help="the Python that has stable-baselines3")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--cases", help="names, with commas between them; default: all")
    parser.add_argument("--strict", action="store_true")
    options = parser.parse_args()
    chosen = [case for case in CASES if options.cases is None or case.name in options.cases.split(",")]

    os.environ["OPENBLAS_NUM_THREADS"] = "1"
    core = os.environ.get("OPENBLAS_CORETYPE") or kernels(options.program)
    if core:
        os.environ["OPENBLAS_CORETYPE"] = core
    print(f"kernels: {core or 'as OpenBLAS chooses'}; load average {os.getloadavg()[0]:.1f} of {os.cpu_count()} cores; medians of {options.rounds} rounds")
    server = Server(options.bench)
    sides: Dict[str, Callable[[Case], Optional[float]]] = {
        "tce": lambda case: train(options.program, case), "bound": lambda case: bound(server, options.program, case)}
    if options.peers:
        sides["stable-baselines3"] = lambda case: peer(options.peers, "stable-baselines3", case)
        sides["rltools"] = lambda case: peer(options.peers, "rltools", case) if case.peer_task == "pendulum" and case.threads == 1 else None
    samples: Dict[str, Dict[str, List[Optional[float]]]] = {case.name: {side: [] for side in sides} for case in chosen}
    for _ in range(options.rounds):
        for case in chosen:
            for side, measure in sides.items():
                samples[case.name][side].append(measure(case))
    server.close()

    missed = False
    ours: Dict[str, float] = {}
    print(f"{'environment steps per second':26s} {'tce':>10s} {'bound':>10s} {'share':>7s} {'stable-baselines3':>18s} {'ratio':>7s} {'rltools':>9s} {'ratio':>7s}")
    for case in chosen:
        here = {side: median(values) for side, values in samples[case.name].items()}
        rate, limit, theirs, fixed = here["tce"], here["bound"], here.get("stable-baselines3"), here.get("rltools")
        assert rate is not None and limit is not None
        ours[case.name] = rate
        goals = judge(case, ours, limit, theirs)
        missed |= any(goal.endswith("MISSED") for goal in goals)
        print(
            f"{case.name:28s} {number(rate):>10s} {number(limit):>10s} {100 * rate / limit:5.0f} % {number(theirs):>18s} {times(rate, theirs):>7s}"
            f" {number(fixed):>9s} {times(rate, fixed):>7s}  {'; '.join(goals)}")
    if not options.peers:
        print("(no peers installed: make deps-peers-rl)")
    return 1 if options.strict and missed else 0


if __name__ == "__main__":
    sys.exit(main())
