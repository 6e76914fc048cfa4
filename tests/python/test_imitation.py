"""Policies from demonstrations, and runs that start from them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import tce

SETTINGS = {"run.threads": 1, "run.iterations": 1, "collect.episodes": 8, "mp.n_basis": 3, "policy.hidden": [16], "critic.hidden": [8],
            "policy.epochs": 0}


def paths(n: int) -> "tuple[np.ndarray, np.ndarray]":
    """Movements from the start of point_via to goals that the observation shows."""
    draw, times = np.random.default_rng(3), np.linspace(0.0, 1.0, 51)
    far = draw.uniform(-0.5, 0.5, (n, 2))
    shape = 10 * times**3 - 15 * times**4 + 6 * times**5
    obs = np.zeros((n, 8))
    obs[:, :2] = far
    return shape[:, None] * far[:, None, :], obs


def test_a_policy_imitates_paths_and_a_run_starts_from_it(tmp_path: Path) -> None:
    pos, obs = paths(40)
    policy = tce.imitate("point_via", pos, obs, config=SETTINGS, out=tmp_path / "fit")
    assert policy.path_error < 0.01 and 0.0 < policy.parameter_error and 0.05 < policy.std < 0.99
    ends = policy.plan(obs).pos[:, -1]
    assert np.abs(ends - pos[:, -1]).max() < 0.1
    run = tce.train("point_via", config=SETTINGS, out=tmp_path / "run", init_from=policy, progress=False)
    assert f"init_from: '{tmp_path / 'fit'}'" in run.config
    assert np.array_equal(run.agent().plan(obs).pos, policy.plan(obs).pos)


def test_paths_may_have_their_own_lengths_and_times(tmp_path: Path) -> None:
    pos, _ = paths(6)
    cut = [path[: 51 - 5 * i] for i, path in enumerate(pos)]
    policy = tce.imitate("point_via", cut, times=[0.02 * np.arange(len(path)) for path in cut], config=SETTINGS, out=tmp_path / "fit")
    assert policy.path_error < 0.01
    with pytest.raises(ValueError, match="one number per row"):
        tce.imitate("point_via", pos, times=np.arange(7), config=SETTINGS, out=tmp_path / "no")
    with pytest.raises(ValueError, match="expected \\[n, T, D\\]"):
        tce.imitate("point_via", np.zeros((3, 4)), config=SETTINGS, out=tmp_path / "no")
    with pytest.raises(tce.UnsupportedError, match="one covariance for all"):
        tce.imitate("point_via", pos, config={**SETTINGS, "policy.covariance": "contextual"}, out=tmp_path / "no")
