"""The settings of the step-based methods on the paper's tasks, each number against a table that was typed on its own."""

from __future__ import annotations

from typing import Any, Dict, List

import pytest
from running import tce

TASKS = ["metaworld", "box_pushing_dense", "box_pushing_sparse", "hopper_jump", "table_tennis"]
ACTIONS = [4, 7, 7, 3, 7]
EVALUATED = [16, 152, 152, 64, 76]


def each(*values: Any) -> List[Any]:
    """One value for each task."""
    assert len(values) == len(TASKS)
    return list(values)


S, M, L = [128, 128], [256, 256], [512, 512]
ON_POLICY: Dict[str, Any] = {
    "collect.environments": each(16, 40, 40, 8, 40), "objective.lambda": 0.95, "policy.activation": "tanh", "critic.activation": "tanh",
    "policy.precision": "float", "update.rate_schedule": "constant", "normalise.return_discount": 0,
    "collect.time_limit": each("bootstrap", *["terminal"] * 4), "objective.gamma": each(0.99, 1, 1, 1, 1), "evaluate.episodes": EVALUATED}
TABLE: Dict[str, Dict[str, Any]] = {
    "ppo": {
        **ON_POLICY, "collect.steps": each(1000, 1200, 1200, 1000, 1200), "run.iterations": each(1250, 1042, 1042, 1250, 2084), "policy.epochs": 10,
        "update.minibatches": each(32, 40, 40, 40, 40), "update.batch_size": 0, "policy.learning_rate": each(3e-4, 5e-5, 5e-4, 3e-4, 5e-5),
        "critic.learning_rate": each(3e-4, 1e-4, 1e-4, 3e-4, 1e-4), "update.adam_epsilon": 1e-5, "update.ratio_clip": 0.2, "update.critic_clip": 0.2,
        "update.clip_schedule": "constant", "update.value_coefficient": 0.5, "policy.entropy_coefficient": 0, "update.clip_norm": 0.5,
        "update.normalise_advantages": "minibatch", "normalise.observations": True, "normalise.observation_clip": 10, "normalise.rewards": True,
        "normalise.reward_clip": 10, "policy.hidden": each(S, L, L, [32, 32], L), "critic.hidden": each(S, L, L, [32, 32], L),
        "policy.start": "orthogonal", "policy.initial_std": 1, "evaluate.every": each(13, 11, 11, 13, 21)},
    "gsde": {
        **ON_POLICY, "collect.steps": each(1000, 2000, 2000, 1024, 600), "run.iterations": each(1250, 625, 625, 1221, 4167),
        "objective.gamma": each(0.99, 1, 1, 0.999, 1), "objective.lambda": each(0.95, 0.95, 0.95, 0.99, 0.95),
        "collect.time_limit": each("bootstrap", "terminal", "terminal", "bootstrap", "terminal"), "policy.epochs": 10,
        "update.batch_size": each(500, 2000, 2000, 128, 4000), "policy.learning_rate": each(1e-3, 1e-4, 1e-4, 9.5e-5, 1e-4),
        "critic.learning_rate": each(1e-3, 1e-4, 1e-4, 9.5e-5, 1e-4), "update.adam_epsilon": 1e-5, "update.ratio_clip": each(0.3, 0.2, 0.2, 0.4, 0.2),
        "update.critic_clip": each(0.3, 0.2, 0.2, 0.4, 0.2), "update.clip_last": 0.01,
        "update.clip_schedule": each("first_quarter", "constant", "constant", "linear", "constant"), "update.value_coefficient": 0.5,
        "policy.entropy_coefficient": each(0, 0.01, 0.01, 0.0025, 0), "update.clip_norm": 0.5, "update.normalise_advantages": "minibatch",
        "normalise.observations": each(True, True, True, False, True), "normalise.rewards": each(True, True, True, False, True),
        "normalise.observation_clip": 10, "normalise.reward_clip": 10, "policy.hidden": each(S, M, M, M, M), "critic.hidden": each(S, M, M, M, M),
        "policy.start": each("fan_in", "fan_in", "fan_in", "fan_in", "orthogonal"), "policy.sde_every": each(4, 4, 4, 8, 8), "policy.spread": "exp",
        "policy.full_std": True, "policy.initial_std": each(0.5, 0.05, 0.05, 0.1, 0.1), "evaluate.every": each(13, 7, 7, 13, 42)},
    "trpl": {
        **ON_POLICY, "collect.steps": each(1000, 1200, 1200, 1000, 1200), "run.iterations": each(1250, 1042, 1042, 1250, 2084),
        "projection.mean_bound": each(0.005, 0.005, 0.005, 0.05, 0.005), "projection.cov_bound": each(5e-4, 5e-5, 5e-5, 5e-4, 5e-4),
        "projection.coefficient": 10, "projection.kind": "kl", "policy.set_variance": False, "policy.epochs": 20, "critic.epochs": 10,
        "update.minibatches": each(64, 40, 40, 40, 40), "update.batch_size": 0, "policy.learning_rate": each(5e-5, 5e-5, 5e-5, 3e-4, 5e-5),
        "critic.learning_rate": each(3e-4, 1e-4, 1e-4, 3e-4, 1e-4), "update.adam_epsilon": 1e-8, "policy.entropy_coefficient": 0, "update.clip_norm": 0,
        "update.normalise_advantages": "rollout", "normalise.observations": True, "normalise.observation_clip": 0, "normalise.rewards": False,
        "policy.hidden": each(S, L, L, M, M), "critic.hidden": each(S, L, L, M, L), "policy.start": "orthogonal", "policy.initial_std": 1,
        "policy.min_std": 1e-5, "evaluate.every": each(13, 11, 11, 13, 21)},
    "sac": {
        "collect.environments": each(1, 8, 8, 1, 8), "collect.number_samples": each(1000, 8, 8, 1000, 8), "update.gradient_steps": each(1000, 1, 1, 1000, 1),
        "rounds of a run": each(4000, 1250000, 1250000, 2000, 2500000), "collect.learning_starts": each(10000, 100000, 100000, 10000, 100000),
        "objective.gamma": 0.99, "collect.time_limit": "bootstrap", "policy.learning_rate": each(3e-4, 3e-4, 3e-4, 1e-4, 3e-4),
        "critic.learning_rate": each(3e-4, 3e-4, 3e-4, 1e-4, 3e-4), "update.adam_epsilon": 1e-8, "update.batch_size": each(256, 512, 512, 256, 512),
        "update.replay_size": each(1000000, 2000000, 2000000, 1000000, 4000000), "critic.polyak": 0.005, "update.entropy_coefficient": "auto",
        "update.alpha": 1, "target entropy": [-n for n in ACTIONS], "policy.log_std_low": -20, "policy.log_std_high": 2, "policy.hidden": M,
        "critic.hidden": M, "policy.activation": each("relu", "tanh", "tanh", "relu", "tanh"), "critic.activation": each("relu", "tanh", "tanh", "relu", "tanh"),
        "policy.start": "fan_in", "policy.precision": "float", "update.rate_schedule": "constant",
        "rounds between evaluations": each(40, 12500, 12500, 20, 25000), "evaluate.episodes": EVALUATED},
}
# as SAC, except for these
TABLE["pink"] = {
    **TABLE["sac"], "collect.environments": each(4, 8, 8, 1, 8), "collect.number_samples": each(4, 8, 8, 1, 8), "update.gradient_steps": 1,
    "rounds of a run": each(1000000, 1250000, 1250000, 2000000, 2500000), "collect.learning_starts": 100000,
    "policy.learning_rate": each(3e-4, 3e-4, 3e-4, 2e-4, 3e-4), "critic.learning_rate": each(3e-4, 3e-4, 3e-4, 2e-4, 3e-4),
    "update.batch_size": each(512, 512, 512, 256, 512), "update.replay_size": each(2000000, 2000000, 2000000, 1000000, 4000000),
    "policy.hidden": each(M, M, M, [32, 32], M), "critic.hidden": each(M, M, M, [32, 32], M), "noise.beta": 1, "noise.chunk": 10000,
    "noise.max_period": 10000, "rounds between evaluations": each(10000, 12500, 12500, 20000, 25000)}
ALONE: Dict[str, Dict[str, Any]] = {
    "box_pushing_dense/sac_mp": {
        "run.method": "sac_mp", "collect.environments": 38, "collect.episodes": 152, "update.gradient_steps": 152, "run.iterations": 1316,
        "collect.rounds": 1, "collect.learning_starts": 1000, "policy.action_scale": 3, "collect.reward_scale": 0.01, "policy.learning_rate": 3e-4,
        "critic.learning_rate": 3e-4, "update.adam_epsilon": 1e-8, "update.batch_size": 256, "update.replay_size": 100000, "update.target_entropy": 0,
        "update.target_entropy_auto": True, "policy.log_std_low": -20, "policy.log_std_high": 2, "policy.hidden": M, "critic.hidden": M,
        "policy.activation": "relu", "critic.activation": "relu", "policy.start": "fan_in", "collect.mask_context": True, "collect.time_input": False,
        "mp.n_basis": 8, "mp.tau": 1.5, "mp.weights_scale": 0.3, "mp.goal_scale": 0.3, "evaluate.every": 13, "evaluate.episodes": 152},
    "box_pushing_dense/tce_clip": {
        "run.method": "tce", "projection.kind": "none", "projection.ratio_clip": 0.1, "projection.coefficient": 0, "projection.entropy": "none",
        "projection.entropy_schedule": "none", "critic.value_clip": 0},
    "hopper_jump/bbrl_clip": {
        "run.method": "bbrl", "policy.covariance": "diagonal", "collect.environments": 40, "collect.episodes": 160, "run.iterations": 250,
        "projection.kind": "none", "projection.ratio_clip": 0.2, "critic.value_clip": 0.2, "policy.epochs": 100, "critic.epochs": 100,
        "policy.learning_rate": 1e-4, "critic.learning_rate": 1e-4, "policy.hidden": S, "critic.hidden": [32, 32], "policy.activation": "tanh",
        "critic.activation": "tanh", "policy.start": "orthogonal", "policy.initial_std": 1, "policy.min_std": 1e-4, "policy.l2": 5e-5, "critic.l2": 5e-5,
        "mp.n_basis": 5, "evaluate.every": 3, "evaluate.episodes": 64},
    "metaworld/bbrl_cov": {"run.method": "bbrl", "policy.covariance": "full"},
}


def read(text: str) -> Any:
    """A value as `tce config` prints it."""
    if text.startswith("["):
        return [read(word) for word in text[1:-1].split(", ")]
    if text in ("true", "false"):
        return text == "true"
    try:
        return float(text)
    except ValueError:
        return text.strip("'")


def effective(name: str) -> Dict[str, Any]:
    done = tce("config", name)
    assert done.returncode == 0, done.stderr
    found: Dict[str, Any] = {}
    section = ""
    for line in done.stdout.splitlines():
        key, _, rest = line.partition("  #")[0].partition(": ")
        if line.startswith("  "):
            found[f"{section}.{key.strip()}"] = read(rest.strip())
        elif line.endswith(":"):
            section = line[:-1]
    return found


def derived(found: Dict[str, Any], n_actions: int) -> None:
    """What the paper counts in rounds, and the target that follows from the task."""
    rounds = found["collect.rounds"]
    assert rounds * found["collect.number_samples"] >= 1000
    found["rounds of a run"] = found["run.iterations"] * rounds
    found["rounds between evaluations"] = found["evaluate.every"] * rounds
    automatic = found["update.target_entropy"] == 0 and found["update.target_entropy_auto"]
    found["target entropy"] = -n_actions if automatic else found["update.target_entropy"]


def different(found: Dict[str, Any], wanted: Dict[str, Any]) -> Dict[str, Any]:
    return {key: (found.get(key), value) for key, value in wanted.items() if found.get(key) != value}


@pytest.mark.parametrize("method", TABLE)
@pytest.mark.parametrize("i", range(len(TASKS)), ids=TASKS)
def test_settings_are_the_published_ones(method: str, i: int) -> None:
    found = effective(f"{TASKS[i]}/{method}")
    assert found["run.method"] == method and str(found["task.name"]).startswith(TASKS[i])
    if method in ("sac", "pink"):
        derived(found, ACTIONS[i])
    # hidden layers are lists too: only a list for each task has as many entries as there are tasks
    wanted = {key: value[i] if isinstance(value, list) and len(value) == len(TASKS) else value for key, value in TABLE[method].items()}
    assert different(found, wanted) == {}


@pytest.mark.parametrize("name", ALONE)
def test_settings_of_the_ablations(name: str) -> None:
    assert different(effective(name), ALONE[name]) == {}
