"""Whole iterations of `tce train` beside the same in numpy (replica.py).

From the checkpoint of one iteration the next one is computed, and everything the trainer keeps must come out: weights, covariance, Adam's moments,
statistics of the normaliser, and the numbers of progress.csv.
"""

from __future__ import annotations

import ctypes
from pathlib import Path
from typing import Dict, List, Sequence

import pytest
from replica import Replica, near, replica_of
from running import checkpoints, rows, tce

# of the largest entry: rounding of sums in another order, and what the updates make of it
TOLERANCE = 1e-8


@pytest.fixture(autouse=True)
def same_kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    """The program computes with the kernels of OpenBLAS that libtce has here: where they are old, it would choose others, which round differently."""
    blas = ctypes.CDLL("libopenblas.so.0")
    blas.openblas_get_corename.restype = ctypes.c_char_p
    monkeypatch.setenv("OPENBLAS_CORETYPE", blas.openblas_get_corename().decode())


def train(folder: Path, preset: str, *words: str) -> List[Path]:
    """Checkpoints of all iterations of a run in double."""
    done = tce("train", preset, "--seed", 5, "--threads", 2, "--out", folder, "policy.precision=double", "run.checkpoint_every=1",
               "run.checkpoint_keep=100", "evaluate.every=0", "evaluate.episodes=1", *words)
    assert done.returncode == 0, done.stderr
    return checkpoints(folder)


def compare(got: Replica, want: Replica, row: Dict[str, str]) -> None:
    """Two states after an iteration, and what progress.csv says of it."""
    assert got.iteration == want.iteration == int(row["iteration"])
    for name, value in got.report.items():
        # a trust region that was not reached has a loss of 0, except for rounding
        near(name, value, float(row[name]), TOLERANCE, 1e-6)
    for name in ("policy", "covariance", "critic"):
        ours, kept = getattr(got, name).adam, getattr(want, name).adam
        assert ours.steps == kept.steps
        for part in ("theta", "moment", "square"):
            near(f"{name} {part}", getattr(ours, part), getattr(kept, part), TOLERANCE)
    for name in ("mean", "variance", "count"):
        near(f"normaliser {name}", getattr(got, name), getattr(want, name), TOLERANCE)


def run_beside(folder: Path, preset: str, *words: str) -> List[Dict[str, str]]:
    """Computes every iteration after the first from the checkpoint before it; returns their rows of progress.csv."""
    found = train(folder, preset, *words)
    assert len(found) > 2
    by_iteration = {int(row["iteration"]): row for row in rows(folder)}
    seen = []
    for before, after in zip(found[:-1], found[1:]):
        replica = replica_of(folder, before)
        replica.run()
        seen.append(by_iteration[replica.iteration])
        compare(replica, replica_of(folder, after), seen[-1])
    return seen


# what the presets differ in: moved rewards, entropy schedule, relative goal, delay, tanh, states that tasks carry on, rounds of unequal size
@pytest.mark.parametrize("preset,steps,words", [
    ("hopper_jump/tce", 250, ("collect.episodes=7", "collect.environments=4")),
    ("box_pushing_dense/tce", 100, ("collect.episodes=6", "collect.environments=4")),
    ("table_tennis/tce", 300, ("collect.episodes=6", "collect.environments=3")),
    ("metaworld/tce", 500, ("collect.episodes=4", "collect.environments=4", "task.name=metaworld_reach")),
    ("box_pushing_dense/bbrl_cov", 100, ("collect.episodes=12", "collect.environments=5")),
    ("hopper_jump/bbrl_cov", 250, ("collect.episodes=9", "collect.environments=4")),
])
def test_iterations_are_the_formulas(preset: str, steps: int, words: Sequence[str], tmp_path: Path) -> None:
    episodes = int(words[0].partition("=")[2])
    # so fast that the trust region is reached within the few epochs
    seen = run_beside(tmp_path / "run", preset, *words, f"run.steps={3 * steps * episodes}", "policy.epochs=6", "critic.epochs=4",
                      "policy.hidden=16,8", "critic.hidden=16,16", "policy.learning_rate=0.02")
    assert all(float(row["trust_region_loss"]) > 1e-6 for row in seen), "the trust region was not reached"


@pytest.mark.parametrize("words", [
    "critic.target=monte_carlo objective.gamma=0.97",
    "objective.advantage=sum objective.gamma=0.97 objective.lambda=0.9",
    "objective.advantage=reward objective.gamma=0.97",
    "objective.selection=random objective.time_points=7",
    "objective.regulariser=0.01 objective.time_points=11",
    "critic.minibatches=7 critic.clip_norm=0.5 critic.activation=tanh",
    "critic.normalise=false collect.time_input=false",
    "collect.mask_context=true",
    "policy.clip_norm=0.1 policy.l2=0.01 policy.activation=relu",
    "policy.entropy_coefficient=0.05 policy.min_std=0.1",
    "projection.kind=w2 projection.mean_bound=0.01",
    "projection.kind=frobenius projection.coefficient=3",
    "projection.kind=none projection.ratio_clip=0.05",
    "projection.entropy=equal projection.entropy_schedule=linear projection.entropy_target=-5",
    "projection.entropy=at_least projection.entropy_schedule=exponential projection.entropy_target=1.6 projection.entropy_temperature=0.5",
    "projection.entropy=equal projection.entropy_schedule=exponential projection.entropy_target=-1 projection.entropy_first=true",
    "policy.covariance=diagonal",
    "policy.covariance=diagonal projection.kind=w2",
    "policy.covariance=contextual",
    "policy.covariance=contextual projection.kind=w2 projection.entropy=at_least projection.entropy_schedule=linear projection.entropy_target=9",
    "policy.covariance=contextual projection.kind=frobenius objective.selection=random",
    "policy.set_variance=true",
    "schedule.learning_rate_iterations=2",
    "mp.auto_scale_basis=false mp.alpha=15 mp.delay=0.1 mp.tau=0.9 mp.dt=0.03",
    "run.method=bbrl collect.mask_context=false collect.time_input=true",
    "run.method=bbrl policy.covariance=contextual projection.kind=w2 policy.set_variance=false",
    "run.method=bbrl projection.kind=none projection.ratio_clip=0.2 policy.set_variance=false collect.mask_context=false",
])
def test_settings_do_what_the_formulas_say(words: str, tmp_path: Path) -> None:
    preset = "point_via/bbrl" if "run.method=bbrl" in words else "point_via/tce"
    run_beside(tmp_path / "run", preset, "collect.episodes=8", "collect.environments=5", "run.steps=1200", "run.iterations=20",
               "policy.epochs=5", "critic.epochs=3", "policy.hidden=12", "critic.hidden=10,10", "policy.learning_rate=0.02", "critic.minibatches=1",
               "mp.dt=0.02", *words.split())
