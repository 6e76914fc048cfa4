#!/usr/bin/env python3
"""Environment steps per second of whole training: `tce`, what bounds it, and the peers (stable-baselines3, rltools) where they are installed.

    bench_rl.py PROGRAM BENCH [--peers PYTHON] [--rounds 3] [--cases ppo,sac] [--strict]

The settings are those of examples/configs/pendulum and examples/configs/box_pushing_dense. The bound is measured in the same run, on
the same kernels: what the h x h products of an update (by the program BENCH) and mj_step take, and nothing else. Sides take turns
within each round. What runs in one thread is measured in processor time, so that other programs on the machine do not count, and the
table has medians; what runs in two is measured by the clock, and the table has the best, which other programs disturb least.
--strict: exit status 1 when a goal is missed.
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
from typing import Dict, List, NamedTuple, Optional, Sequence

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


WIDE = ["policy.hidden=[256, 256]", "critic.hidden=[256, 256]", "update.batch_size=256"]
# as many environments and minibatches as the preset has, of as many rows, with a quarter of the steps
BOX = ["collect.steps=300", "update.minibatches=10"]

CASES = [
    Case("ppo", "pendulum/ppo", "ppo", [], 20, 64, 128, 16, 128, 20480, 4096, "pendulum", 1, 10.0, None),
    Case("sac", "pendulum/sac", "sac", [], 5, 64, 128, 1, 1, 3000, 1000, "pendulum", 1, 20.0, None),
    Case("sac_256", "pendulum/sac", "sac", WIDE + ["collect.rounds=500"], 3, 256, 256, 1, 1, 2000, 1000, "pendulum", 1, 2.7, 0.8),
    Case("ppo_box", "box_pushing_dense/ppo", "ppo", BOX, 1, 512, 1200, 40, 300, 24000, 12000, "tce/BoxPushingDense-v0", 1, 1.5, 0.85),
]

# SAC's two critics are an item of the pool each
THREADS_GAIN = 1.4
THREADS_WORDS = WIDE + ["run.iterations=60", "collect.rounds=50", "run.checkpoint_every=1000000", "evaluate.every=0", "evaluate.episodes=1"]

# rollouts by raw actions on two threads, acting included, beside bare mj_step calls on as many
ROLLOUT_SHARE = 0.95
ROLLOUTS = {
    "box_pushing_dense": ["collect.environments=38", "collect.steps=50", "policy.epochs=1", "update.minibatches=1"],
    "hopper_jump": ["collect.environments=8", "collect.steps=500", "policy.epochs=1"],
}
ROLLOUT_ITERATIONS = 9


def run(command: List[str]) -> str:
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "TCE_PYTHON": "/bin/false"})
    if done.returncode != 0:
        raise SystemExit(f"bench_rl: {' '.join(command)}: {done.stderr.strip()}")
    return done.stdout


def iterations_of(program: str, preset: str, words: List[str], iterations: int, threads: int) -> Dict[str, float]:
    """What `tce bench` tells of whole iterations."""
    return dict(json.loads(run([program, "bench", str(ROOT / "examples" / "configs" / f"{preset}.yaml"), "--json", "--iterations", str(iterations),
                                "--threads", str(threads), "evaluate.episodes=1", *words])))


def best_update(program: str, threads: int) -> float:
    """Seconds of the quickest iteration's updates, of many short ones, of SAC with wide networks."""
    with tempfile.TemporaryDirectory() as folder:
        run([program, "train", str(ROOT / "examples" / "configs" / "pendulum" / "sac.yaml"), "--quiet", "--out", f"{folder}/run",
             f"run.threads={threads}", *THREADS_WORDS])
        with open(f"{folder}/run/timing.csv", newline="") as file:
            # the first ones only collect
            return sorted(float(row["update"]) for row in csv.DictReader(file))[20]


def kernels(program: str) -> str:
    """Which kernels of OpenBLAS the program takes, by what a run of one iteration records; "" when it cannot tell."""
    with tempfile.TemporaryDirectory() as folder:
        words = ["run.iterations=1", "collect.episodes=1", "collect.environments=1", "evaluate.episodes=1", "policy.epochs=1", "critic.epochs=1"]
        subprocess.run([program, "train", str(ROOT / "examples/configs/point_via/bbrl.yaml"), "--quiet", "--out", f"{folder}/run", *words],
                       capture_output=True, env={**os.environ, "TCE_PYTHON": "/bin/false"})
        file = Path(folder, "run", "config.yaml")
        found = re.search(r"^# kernels: (\S+)", file.read_text() if file.exists() else "", re.MULTILINE)
        return found.group(1) if found else ""


def bound(server: Server, case: Case, ours: Dict[str, float]) -> float:
    """Steps per second if training were its h x h products and mj_step alone."""

    def product(rows: int) -> float:
        return server(f"product {rows} {case.hidden} {case.hidden}")

    if case.method == "sac":
        return 1.0 / (SAC_PRODUCTS * product(case.batch))
    step = 2 * EPOCHS * PASSES * product(case.batch) / case.batch + 2 * product(case.environments) / case.environments
    return 1.0 / (step + ours.get("mj_step_seconds", 0.0) / ours["env_steps"])


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


def verdict(met: Optional[bool]) -> str:
    return "not measured" if met is None else "met" if met else "MISSED"


class Goals:
    """Lines of what is to be reached beside what was."""

    def __init__(self) -> None:
        self.lines: List[str] = []
        self.missed = False

    def add(self, what: str, value: Optional[float], least: float, unit: str) -> None:
        met = None if value is None else value >= least
        self.missed = self.missed or met is False
        self.lines.append(f"{what:66s} {number(value):>8s}  >= {least:g} {unit:2s} {verdict(met)}")

    def show(self) -> None:
        print("\ngoals")
        for line in self.lines:
            print("  " + line)


def ratio(rate: float, other: Optional[float]) -> Optional[float]:
    return None if other is None else rate / other


def measure(options: argparse.Namespace, case: Case, server: Server, samples: Dict[str, List[Optional[float]]]) -> None:
    """All sides of a case once."""

    def add(side: str, rate: Optional[float]) -> None:
        samples.setdefault(side, []).append(rate)

    ours = iterations_of(options.program, case.preset, case.words, case.iterations, case.threads)
    add("tce", ours["env_steps"] / ours["processor_seconds"])
    add("bound", bound(server, case, ours))
    if options.peers:
        add("stable-baselines3", peer(options.peers, "stable-baselines3", case))
        if case.peer_task == "pendulum":
            add("rltools", peer(options.peers, "rltools", case))


def show_rates(cases: List[Case], samples: Dict[str, Dict[str, List[Optional[float]]]], goals: Goals) -> None:
    print(f"\n{'environment steps per second':28s} {'tce':>10s} {'bound':>10s} {'share':>7s} {'stable-baselines3':>18s} {'ratio':>7s} {'rltools':>9s} {'ratio':>7s}")
    for case in cases:
        here = {side: median(values) for side, values in samples[case.name].items()}
        rate, limit, theirs, fixed = here["tce"], here["bound"], here.get("stable-baselines3"), here.get("rltools")
        assert rate is not None and limit is not None
        print(
            f"{case.name:28s} {number(rate):>10s} {number(limit):>10s} {100 * rate / limit:5.0f} % {number(theirs):>18s} {times(rate, theirs):>7s}"
            f" {number(fixed):>9s} {times(rate, fixed):>7s}")
        if case.ratio is not None:
            goals.add(f"{case.name}: times stable-baselines3", ratio(rate, theirs), case.ratio, "")
        if case.share is not None:
            goals.add(f"{case.name}: per cent of the bound", 100 * rate / limit, 100 * case.share, "%")


def show_threads(options: argparse.Namespace, goals: Goals) -> None:
    seconds: Dict[int, List[float]] = {1: [], 2: []}
    for _ in range(options.rounds):
        for threads, values in seconds.items():
            values.append(best_update(options.program, threads))
    goals.add("sac_256: times one thread on two, by the clock", min(seconds[1]) / min(seconds[2]), THREADS_GAIN, "")


def show_rollouts(options: argparse.Namespace, goals: Goals) -> None:
    for task, words in ROLLOUTS.items():
        for threads in (1, 2):
            best = max(
                iterations_of(options.program, f"{task}/ppo", words, ROLLOUT_ITERATIONS, threads)["rollouts_reached_best"] for _ in range(options.rounds))
            goals.add(f"{task}: rollouts, per cent of bare mj_step, {threads} thread{'s' * (threads > 1)}, by the clock", 100 * best,
                      100 * ROLLOUT_SHARE, "%")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("bench")
    parser.add_argument("--peers", help="the Python that has stable-baselines3")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--cases", help="names, with commas between them, threads and rollouts among them; default: all")
    parser.add_argument("--strict", action="store_true")
    options = parser.parse_args()
    names = [case.name for case in CASES] + ["threads", "rollouts"]
    wanted = options.cases.split(",") if options.cases else names
    for name in wanted:
        if name not in names:
            parser.error(f"no case {name!r}: {', '.join(names)}")
    chosen = [case for case in CASES if case.name in wanted]

    os.environ["OPENBLAS_NUM_THREADS"] = "1"
    core = os.environ.get("OPENBLAS_CORETYPE") or kernels(options.program)
    if core:
        os.environ["OPENBLAS_CORETYPE"] = core
    print(f"kernels: {core or 'as OpenBLAS chooses'}; load average {os.getloadavg()[0]:.1f} of {os.cpu_count()} cores; {options.rounds} rounds")
    server = Server(options.bench)
    samples: Dict[str, Dict[str, List[Optional[float]]]] = {case.name: {} for case in chosen}
    for _ in range(options.rounds):
        for case in chosen:
            measure(options, case, server, samples[case.name])
    server.close()

    goals = Goals()
    show_rates(chosen, samples, goals)
    if not options.peers:
        print("(no peers installed: make deps-peers-rl)")
    if "threads" in wanted:
        show_threads(options, goals)
    if "rollouts" in wanted:
        show_rollouts(options, goals)
    goals.show()
    return 1 if options.strict and goals.missed else 0


if __name__ == "__main__":
    sys.exit(main())
