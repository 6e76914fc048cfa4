"""stable-baselines3 on environments of whole episodes, where it is installed: `make deps-peers-rl`."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

stable_baselines3 = pytest.importorskip("stable_baselines3")

import tce.gym  # noqa: E402

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "examples" / "python"))
from slider import Slider  # noqa: E402


def test_an_environment_of_whole_episodes_is_learnt() -> None:
    from stable_baselines3.common.env_checker import check_env

    env = tce.gym.ProDMPWrapper(Slider(), tce.gym.Controller(position=0, velocity=1, command="velocity"), n_steps=20, n_basis=2)
    check_env(env)
    model = stable_baselines3.PPO("MlpPolicy", env, n_steps=256, batch_size=64, learning_rate=3e-3, gamma=1.0, seed=1, device="cpu")

    def mean_return() -> float:
        obs, returns = env.reset(seed=1)[0], []
        for _ in range(50):
            returns.append(env.step(model.predict(obs, deterministic=True)[0])[1])
            obs, _ = env.reset()
        return float(np.mean(returns))

    before = mean_return()
    model.learn(2048)
    assert mean_return() > before + 1.0
