"""The original Python environments beside libtce's, step by step: the largest differences, and what they may be.

    make check-oracle [EPISODES=50]

Each episode begins in the original; its state (positions, velocities, the solver's warm start, goal) is put into ours. Then
    actions     random raw actions in both
    same path   random parameters of a movement primitive: the original's own wrapper makes the path and tracks it; ours tracks the same path
    own path    the same parameters through tce.ProDMP and our controller. The original's path is float32, so what comes out differs by what that
                does to the physics: a median and a largest value, not a bound
and with parameters 0 the mean final metrics of both.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import logging
import os
import sys
import warnings
from dataclasses import dataclass, field
from importlib import metadata
from typing import Any, Callable, Dict, List, Optional, Tuple

import numpy as np

import tce

warnings.filterwarnings("ignore")
logging.disable(logging.WARNING)
with contextlib.redirect_stdout(io.StringIO()):  # it lists what it cannot import
    import fancy_gym  # noqa: F401
import gymnasium
import mujoco

# both run the same code of MuJoCo: what is left is the order of additions in rewards
TOLERANCE = 1e-9
# float32 against double over a path of radians
PATH_TOLERANCE = 5e-4

# where our states keep their numbers: examples/tasks/box_pushing.h, hopper_jump.h, table_tennis.h, shared/state_layout.h
BOX = {"target": 2, "bias": 10, "box": 17, "qpos": 31, "qvel": 47, "warm": 62}
HOPPER = {"goal": 2, "qpos": 12}
TENNIS = {"goal": 2, "near": 12, "qpos": 16}
FAR_AWAY = 1e300


def box_state(raw: Any, n: int) -> np.ndarray:
    """All that a reset leaves, the arm search's warm start too."""
    data, state = raw.data, np.zeros(n)
    box = raw.model.body("box_0").id
    parts = (
        ("qpos", data.qpos), ("qvel", data.qvel), ("warm", data.qacc_warmstart), ("bias", data.qfrc_bias[:7]),
        ("target", np.concatenate([data.body("replan_target_pos").xpos, data.body("replan_target_pos").xquat])),
        ("box", np.concatenate([data.xpos[box], data.xquat[box]])))
    for name, values in parts:
        state[BOX[name]:BOX[name] + len(values)] = values
    return state


def packed_state(raw: Any, n: int, layout: Dict[str, int], goal: np.ndarray) -> np.ndarray:
    """hopper_jump and table_tennis right after a reset: to be derived, so the warm start is what mj_forward finds, as there."""
    state = np.zeros(n)
    state[0] = 1.0
    state[layout["goal"]:layout["goal"] + len(goal)] = goal
    at = layout["qpos"]
    state[at:at + raw.model.nq] = raw.data.qpos
    state[at + raw.model.nq:at + raw.model.nq + raw.model.nv] = raw.data.qvel
    return state


def hopper_state(raw: Any, n: int) -> np.ndarray:
    return packed_state(raw, n, HOPPER, raw.goal[:1])


def tennis_state(raw: Any, n: int) -> np.ndarray:
    state = packed_state(raw, n, TENNIS, raw._goal_pos)
    state[TENNIS["near"]:TENNIS["near"] + 2] = FAR_AWAY
    return state


@dataclass
class Case:
    """One task: its name here and there, how a state crosses, and the primitive in both languages."""

    name: str
    original: str
    state: Callable[[Any, int], np.ndarray]
    metrics: Dict[str, str]  # ours: theirs
    mp: Dict[str, Any]
    override: Dict[str, Any]
    settings: Optional[str] = None
    spread: float = 1.0  # std of random parameters
    low: List[float] = field(default_factory=list)  # learned times come first, uniform
    high: List[float] = field(default_factory=list)
    rows: List[Tuple[str, float, float]] = field(default_factory=list)


def published(n_basis: int, tau: float, dt: float, scale: float) -> Dict[str, Dict[str, Any]]:
    """The published ProDMP of Box Pushing and Hopper Jump, as keywords of tce.ProDMP and of the original's wrapper."""
    ours = dict(
        n_basis=n_basis, tau=tau, dt=dt, table_length=5, alpha=10, alpha_phase=3, basis_bandwidth_factor=3, weights_scale=scale,
        goal_scale=scale, auto_scale_basis=True)
    theirs = {
        "phase_generator_kwargs": {"tau": tau, "alpha_phase": 3.0},
        "basis_generator_kwargs": {
            "num_basis": n_basis, "alpha": 10, "basis_bandwidth_factor": 3, "dt": dt, "pre_compute_length_factor": 5},
        "trajectory_generator_kwargs": {"weights_scale": scale, "goal_scale": scale, "auto_scale_basis": True},
    }
    return {"mp": ours, "override": theirs}


BOX_METRICS = {"success": "is_success", "box_goal_pos_dist": "box_goal_pos_dist", "box_goal_rot_dist": "box_goal_rot_dist",
               "episode_energy": "episode_energy"}
CASES = [
    Case("box_pushing_dense", "BoxPushingRandomInitDense-v0", box_state, BOX_METRICS, **published(8, 2.0, 0.02, 0.3)),
    Case("box_pushing_sparse", "BoxPushingRandomInitTemporalSparse-v0", box_state, BOX_METRICS, **published(8, 2.0, 0.02, 0.3)),
    Case("hopper_jump", "HopperJumpSparse-v0", hopper_state,
         {"max_height": "max_height", "goal_dist": "goal_dist", "healthy_reward": "healthy_reward", "contact_dist": "contact_dist"},
         **published(3, 0.8, 0.008, 1.0)),
    # the wheel has this variant only; its own primitive, with learned tau and delay and no goal
    Case("table_tennis", "TableTennis4D-v0", tennis_state,
         {"success": "is_success", "hit_ball": "hit_ball", "ball_returned_success": "ball_returned_success", "land_dist_error": "land_dist_error"},
         mp=dict(n_basis=3, tau=1.5, learn_tau=True, learn_delay=True, dt=0.01, table_length=6, alpha=25, alpha_phase=3, basis_bandwidth_factor=3,
                 weights_scale=0.7, auto_scale_basis=True, relative_goal=True, disable_goal=True),
         override={}, settings="terminal=1", spread=0.7, low=[0.8, 0.05], high=[1.5, 0.15]),
]


def largest(a: Any, b: Any) -> float:
    return float(np.abs(np.asarray(a, float) - np.asarray(b, float)).max(initial=0.0))


class Pair:
    """The original and ours, started alike."""

    def __init__(self, library: tce.TaskLibrary, case: Case) -> None:
        override = dict(case.override, black_box_kwargs={"verbose": 2})
        self.case = case
        self.original = gymnasium.make("fancy_ProDMP/" + case.original, mp_config_override=override)
        self.raw = self.original.unwrapped
        self.ours = library[case.name].create(case.settings)
        self.ours.reset(tce.Random(0))
        self.n_state = len(self.ours.get_state())
        self.spec = self.ours.spec
        self.mp = tce.ProDMP(n_dof=self.spec.n_dof, **case.mp)
        self.times = np.arange(1, self.spec.n_steps + 1) * self.spec.dt

    def begin(self, seed: int) -> np.ndarray:
        """A start in both; returns the state for another beginning."""
        self.original.reset(seed=seed)
        state = self.case.state(self.raw, self.n_state)
        seen = self.ours.set_state(state)
        self.case.rows.append(("start", largest(seen, self.raw._get_obs()), 0.0))
        return state

    def params(self, random: np.random.Generator, spread: float) -> np.ndarray:
        """float32 numbers, so that both get the same ones."""
        n_times = len(self.case.low)
        params = spread * random.normal(size=self.mp.n_params)
        params[:n_times] = random.uniform(self.case.low, self.case.high)
        return params.astype(np.float32)

    def follow(self, pos: np.ndarray, vel: np.ndarray) -> Tuple[np.ndarray, np.ndarray]:
        steps = [self.ours.step(p, v) for p, v in zip(pos, vel)]
        return np.array([s.obs for s in steps]), np.array([s.reward for s in steps])

    def actions(self, random: np.random.Generator) -> None:
        obs, rewards = 0.0, 0.0
        for _ in range(self.spec.n_steps):
            action = random.uniform(-1.0, 1.0, self.spec.n_action)
            want, reward, terminated, truncated, info = self.raw.step(action)
            got = self.ours.step_action(action)
            obs, rewards = max(obs, largest(got.obs, want)), max(rewards, abs(got.reward - reward))
            if terminated or truncated:
                break
        self.case.rows.append(("actions", obs, rewards))
        self.compare_metrics({key: [value] for key, value in info.items()})

    def compare_metrics(self, info: Dict[str, Any]) -> None:
        got = self.ours.metrics()
        for ours, theirs in self.case.metrics.items():
            self.case.rows.append(("metrics", abs(got[ours] - float(info[theirs][-1])), 0.0))

    def paths(self, state: np.ndarray, params: np.ndarray) -> Optional[Tuple[float, Dict[str, float], Dict[str, float]]]:
        """One episode of the wrapper; returns theirs and ours at the end of our own path, or None where the wrapper refused the path."""
        start = self.raw.data.qpos.copy()[3:6] if self.case.name == "hopper_jump" else self.raw.data.qpos[:7].copy()
        _, total, _, _, info = self.original.step(params)
        own_pos, own_vel = self.mp.trajectory(params[None].astype(float), self.times, 0.0, start[None], np.zeros((1, len(start))))
        if "positions" not in info:
            obs, rewards = self.follow(own_pos[0], own_vel[0])
            self.case.rows.append(("refused", 0.0, abs(rewards.sum() - total) / max(1.0, abs(total))))
            return None
        n = len(info["step_rewards"])
        obs, rewards = self.follow(info["positions"], info["velocities"])
        self.case.rows.append(("same path", largest(obs[:n], info["step_observations"]), largest(rewards[:n], info["step_rewards"])))
        self.case.rows.append(("return", 0.0, abs(rewards.sum() - total)))
        self.compare_metrics(info)

        self.ours.set_state(state)
        self.case.rows.append(("path", largest(own_pos[0], info["positions"]), largest(own_vel[0], info["velocities"])))
        obs, rewards = self.follow(own_pos[0], own_vel[0])
        self.case.rows.append(("own path", largest(obs[:n], info["step_observations"]), largest(rewards[:n], info["step_rewards"])))
        theirs = {ours: float(info[name][-1]) for ours, name in self.case.metrics.items()}
        return total, theirs, {name: self.ours.metrics()[name] for name in theirs}


BOUNDS = {"start": TOLERANCE, "actions": TOLERANCE, "same path": TOLERANCE, "return": TOLERANCE, "metrics": TOLERANCE, "path": PATH_TOLERANCE,
          "refused": PATH_TOLERANCE}


def report(case: Case) -> bool:
    """A line for each kind of row; True when all bounds hold."""
    fine = True
    for kind in dict.fromkeys(row[0] for row in case.rows):
        rows = np.array([row[1:] for row in case.rows if row[0] == kind])
        bound = BOUNDS.get(kind)
        bad = bound is not None and not (rows <= bound).all()
        fine &= not bad
        first, second = ("position", "velocity") if kind == "path" else ("value", "") if kind == "metrics" else ("obs", "reward")
        text = f"  {kind:10s} {len(rows):4d}   largest: {first} {rows[:, 0].max():.2e}"
        text += f", {second} {rows[:, 1].max():.2e}" if second else ""
        if bound is None:
            text += f"   median: {first} {np.median(rows[:, 0]):.2e}, {second} {np.median(rows[:, 1]):.2e}"
        print(text + (f"   ABOVE {bound:g}" if bad else ""))
    return fine


def run(library: tce.TaskLibrary, case: Case, episodes: int, seed: int) -> bool:
    pair = Pair(library, case)
    random = np.random.default_rng(seed)
    ends: List[Tuple[Dict[str, float], Dict[str, float]]] = []
    for episode in range(episodes):
        pair.begin(seed + 3 * episode)
        pair.actions(random)
        pair.paths(pair.begin(seed + 3 * episode + 1), pair.params(random, case.spread))
        end = pair.paths(pair.begin(seed + 3 * episode + 2), pair.params(random, 0.0))
        if end:
            ends.append(end[1:])
    print(f"{case.name}: {case.original}, {episodes} episodes each way")
    fine = report(case)
    for name in case.metrics if ends else ():
        theirs, ours = (np.mean([end[i][name] for end in ends]) for i in (0, 1))
        print(f"  parameters 0: mean {name:22s} original {theirs:12.6g}   ours {ours:12.6g}")
    return fine


def main() -> int:
    parser = argparse.ArgumentParser(description="the original environments beside libtce's")
    parser.add_argument("library", help="libtce_tasks.so")
    parser.add_argument("--episodes", type=int, default=50)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--task", help="one of them only")
    given = parser.parse_args()
    library = tce.TaskLibrary(os.path.abspath(given.library))
    print(f"fancy_gym {metadata.version('fancy_gym')}, MuJoCo {mujoco.mj_versionString()}, gymnasium {gymnasium.__version__}")
    cases = [case for case in CASES if given.task in (None, case.name)]
    if not cases:
        parser.error(f"--task {given.task}: there are {', '.join(case.name for case in CASES)}")
    return 0 if all([run(library, case, given.episodes, given.seed) for case in cases]) else 1


if __name__ == "__main__":
    sys.exit(main())
