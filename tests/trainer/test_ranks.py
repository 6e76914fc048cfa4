"""Ranks: one run as several processes over MPI has the bytes of one process, however its processes end."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any, Callable, Dict, List, Tuple

import pytest
from running import LONG, PATIENCE, PROGRAM, content, environment, tce

MPI = Path(os.environ.get("TCE_MPI", PROGRAM.with_name("tce-mpi")))
MPIRUN = os.environ.get("TCE_MPIRUN", "mpirun")

# a fault must not hold the tests up
LIMIT = 60 * PATIENCE


def open_mpi() -> bool:
    return "Open MPI" in subprocess.run([MPIRUN, "--version"], capture_output=True, text=True).stdout


def launcher(n: int) -> List[str]:
    """mpirun with n ranks, of which there may be more than cores."""
    return [MPIRUN, *(["--oversubscribe", "--bind-to", "none"] if open_mpi() else []), "-n", str(n)]


def surroundings() -> Dict[str, str]:
    return {**environment(), "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_mpi_yield_when_idle": "1",
            "OMPI_MCA_rmaps_base_oversubscribe": "1"}


def run(n: int, *words: Any, program: Path = MPI) -> "subprocess.CompletedProcess[str]":
    return subprocess.run([*launcher(n), str(program), *map(str, words)], capture_output=True, text=True, env=surroundings(), timeout=LIMIT)


@pytest.mark.parametrize("n", [1, 2, 3, 5])
def test_ranks_gather_agree_broadcast_and_talk(n: int) -> None:
    done = run(n, n, program=MPI.with_name(MPI.name + "-test"))
    assert done.returncode == 0 and done.stdout == "fine\n", done.stderr


# The critic of TCE has 24 x 101 rows and more than a thousand weights: its passes are split among ranks, and so are those of PPO's update
# and BBRL's policy. SAC's batches are small: every rank repeats them.
EPISODES = """
run: {method: %s, iterations: 6, checkpoint_every: 2}
task: {name: point_via}
collect: {episodes: 22, environments: 5%s}
evaluate: {every: 2, episodes: 7}
mp: {n_basis: 2, tau: 1.0}
policy: {hidden: [16], epochs: 3}
critic: {hidden: [48, 32], epochs: 2, minibatches: 1}
"""
STEPS = """
run: {method: %s, iterations: 6, checkpoint_every: 2}
task: {name: pendulum}
collect: {environments: %s}
evaluate: {every: 2, episodes: 7}
policy: {hidden: [%s]}
critic: {hidden: [%s]}
%s
"""
MINIBATCHES = "update: {batch_size: 600}"
OFF_POLICY = "update: {gradient_steps: 2, batch_size: 16, replay_size: 300}"
SETTINGS = {
    "tce": EPISODES % ("tce", "") + "objective: {time_points: 5, selection: random}",
    # one covariance per context: likelihood and projection by episode
    "bbrl": EPISODES % ("bbrl", ", mask_context: true, time_input: false") + "projection: {coefficient: 10}",
    "ppo": STEPS % ("ppo", "5, steps: 240", "128, 64", "128, 64", MINIBATCHES),
    "gsde": STEPS % ("gsde", "5, steps: 240", "128, 64", "128, 64", MINIBATCHES),
    "trpl": STEPS % ("trpl", "5, steps: 240", "128, 64", "128, 64", ""),
    "sac": STEPS % ("sac", "4, number_samples: 12, rounds: 5, learning_starts: 60", "8, 8", "8", OFF_POLICY),
    "pink": STEPS % ("pink", "4, number_samples: 12, rounds: 5, learning_starts: 60", "8, 8", "8", OFF_POLICY + "\nnoise: {chunk: 70, max_period: 50}"),
    "sac_mp": EPISODES.replace("episodes: 22, environments: 5", "episodes: 12, environments: 4, rounds: 2, learning_starts: 40").split("policy:")[0]
    % ("sac_mp", "") + "policy: {hidden: [8, 8]}\ncritic: {hidden: [8]}\n" + OFF_POLICY,
}


def settings_of(method: str, folder: Path) -> Path:
    path = folder / f"{method}.yaml"
    path.write_text(SETTINGS[method], encoding="utf-8")
    return path


@pytest.fixture(scope="session")
def alone(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Tuple[Path, Dict[str, bytes]]]:
    """Settings of a method, and what one process leaves of their run."""
    kept: Dict[str, Tuple[Path, Dict[str, bytes]]] = {}

    def train(method: str) -> Tuple[Path, Dict[str, bytes]]:
        if method not in kept:
            folder = tmp_path_factory.mktemp(method)
            config = settings_of(method, folder)
            done = tce("train", config, "--quiet", "--threads", 1, "--out", folder / "run")
            assert done.returncode == 0, done.stderr
            kept[method] = config, content(folder / "run")
        return kept[method]
    return train


MATRIX = [(method, n, threads) for method in SETTINGS for n in (1, 2, 3, 4) for threads in (1, 2)]
QUICK = [("tce", 2, 2), ("tce", 3, 1), ("ppo", 2, 1), ("ppo", 3, 1)]


@pytest.mark.parametrize("method, n, threads", MATRIX if LONG else QUICK)
def test_any_number_of_ranks_and_threads_has_the_bytes_of_one_process(alone: Callable[[str], Tuple[Path, Dict[str, bytes]]], tmp_path: Path,
                                                                      method: str, n: int, threads: int) -> None:
    config, want = alone(method)
    done = run(n, "train", config, "--quiet", "--threads", threads, "--out", tmp_path / "run")
    assert done.returncode == 0, done.stderr
    assert content(tmp_path / "run") == want
