"""The project's own tasks as Gymnasium environments: one and many, by steps and by episodes."""

from __future__ import annotations

import os
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest

import tce
from conftest import ROOT

gymnasium = pytest.importorskip("gymnasium")
if not os.environ.get("TCE_TASKS") and not any(place.is_file() for place in tce.env.tasks_places()):
    pytest.skip("no libtce_tasks.so: make program", allow_module_level=True)

import tce.gym  # noqa: E402

NAMES = ("BoxPushingDense", "BoxPushingSparse", "HopperJump", "TableTennis")
BY_STEPS = [f"tce/{name}-v0" for name in NAMES]
BY_EPISODES = [f"tce_ProDMP/{name}-v0" for name in NAMES]
# those of -v2 start where the episode before left the fixture
METAWORLD = ["tce/MetaWorld-reach-v3", "tce/MetaWorld-handle-press-v2", "tce_ProDMP/MetaWorld-dial-turn-v2"]


@pytest.mark.parametrize("name", BY_STEPS + BY_EPISODES + METAWORLD)
def test_a_task_passes_the_checker_of_gymnasium(name: str) -> None:
    from gymnasium.utils.env_checker import check_env

    env = gymnasium.make(name, render_mode="rgb_array", width=64, height=48)
    with warnings.catch_warnings():
        # unbounded spaces are remarked on, not refused
        warnings.simplefilter("ignore")
        check_env(env.unwrapped)
    picture = env.reset(seed=1) and env.render()
    assert picture.shape == (48, 64, 3) and picture.std() > 5.0
    env.close()


@pytest.mark.parametrize("name, n_obs, n_action, n_steps, metrics", [
    ("BoxPushingDense", 28, 7, 100, ("success", "box_goal_pos_dist")), ("BoxPushingSparse", 28, 7, 100, ("success", "box_goal_pos_dist")),
    ("HopperJump", 16, 3, 250, ("max_height", "goal_dist")), ("TableTennis", 19, 7, 300, ("success", "hit_ball"))])
def test_an_episode_of_raw_actions(name, n_obs, n_action, n_steps, metrics) -> None:
    env = gymnasium.make(f"tce/{name}-v0")
    assert env.observation_space.shape == (n_obs,) and env.action_space.shape == (n_action,)
    assert env.action_space.low.min() == -1.0 and env.action_space.high.max() == 1.0
    env.reset(seed=5)
    env.action_space.seed(1)
    for step in range(1, n_steps + 1):
        obs, reward, terminated, truncated, info = env.step(env.action_space.sample())
        assert np.isfinite(reward) and np.isfinite(obs).all()
        assert (terminated or truncated) == (step == n_steps)
    assert set(metrics) <= set(info)


@pytest.mark.parametrize("name, n_context, n_params", [
    ("BoxPushingDense", 21, 63), ("BoxPushingSparse", 21, 63), ("HopperJump", 4, 12), ("TableTennis", 11, 28)])
def test_an_episode_of_one_step_is_the_same_path_step_by_step(name, n_context, n_params) -> None:
    env = gymnasium.make(f"tce_ProDMP/{name}-v0").unwrapped
    assert env.observation_space.shape == (n_context,) and env.action_space.shape == (n_params,)
    stream = (3, 1, 4, 1)
    context, start = env.reset(options={"stream": stream})
    params = 0.3 * np.random.default_rng(1).normal(size=n_params)
    last, total, terminated, truncated, info = env.step(params)
    assert (terminated, truncated) == (True, False)

    other = tce.gym_env(None, env.task.name, control="path")
    obs, _ = other.reset(options={"stream": stream})
    np.testing.assert_array_equal(obs[list(other.task_spec.context)], context)
    times = other.task_spec.dt * np.arange(1, other.task_spec.n_steps + 1)
    pos, vel = tce.ProDMP(num_dof=other.task_spec.n_dof, **tce.gym.PRODMP[env.task.name]).trajectory(
        params[None], times, 0.0, start["position"][None], start["velocity"][None])
    rewards = []
    for t in range(info["trajectory_length"]):
        obs, reward, *_, metrics = other.step(np.concatenate([pos[0, t], vel[0, t]]))
        rewards.append(reward)
        np.testing.assert_array_equal(obs, info["step_observations"][t])
    np.testing.assert_array_equal(rewards, info["step_rewards"])
    np.testing.assert_array_equal(pos[0], info["positions"])
    assert total == pytest.approx(sum(rewards), rel=1e-12)
    np.testing.assert_array_equal(last, obs[list(other.task_spec.context)])
    assert {name: info[name] for name in metrics} == metrics
    with pytest.raises(gymnasium.error.ResetNeeded):
        env.step(params)


@pytest.mark.parametrize("name", BY_STEPS)
def test_drawing_leaves_an_episode_as_it_was(name) -> None:
    random = np.random.default_rng(1)
    seen = [gymnasium.make(name, render_mode="rgb_array", width=32, height=24).unwrapped for _ in range(2)]
    for env in seen:
        env.reset(seed=2)
    for _ in range(20):
        action = random.uniform(-1.0, 1.0, seen[0].action_space.shape)
        seen[0].render()
        drawn, plain = (env.step(action) for env in seen)
        np.testing.assert_array_equal(drawn[0], plain[0])
        assert drawn[1:] == plain[1:]


def test_settings_and_primitive_can_be_given() -> None:
    env = gymnasium.make("tce_ProDMP/HopperJump-v0", settings="dense=1", mp={"num_basis": 5})
    assert env.action_space.shape == (18,)
    env.reset(seed=1)
    *_, info = env.step(np.zeros(18))
    assert (info["step_rewards"] > 0.0).any()
    with pytest.raises(tce.TceError, match="dense"):
        gymnasium.make("tce/HopperJump-v0", settings="densely=1")


def test_primitives_are_those_of_the_settings_files() -> None:
    for task, primitive in tce.gym.PRODMP.items():
        text = (ROOT / "examples" / "configs" / task / "tce.yaml").read_text()
        lines = text.split("\nmp:\n")[1].splitlines()
        section = {}
        for line in lines:
            if not line.startswith("  "):
                break
            key, value = line.split("#")[0].split(":")
            section[key.strip()] = {"true": True, "false": False}.get(value.strip(), value.strip())
        assert set(section) == set(primitive)
        for key, value in primitive.items():
            assert (section[key] if isinstance(value, bool) else float(section[key])) == value, (task, key)


# ---- many at once -------------------------------------------------------------------------------------------


def test_vectors_made_by_gymnasium_are_the_native_ones() -> None:
    assert isinstance(gymnasium.make_vec("tce/HopperJump-v0", num_envs=2), tce.TaskVectorEnv)
    assert isinstance(gymnasium.make_vec("tce_ProDMP/HopperJump-v0", num_envs=2), tce.EpisodeVectorEnv)
    assert gymnasium.make_vec("tce/HopperJump-v0", num_envs=2, vectorization_mode="sync").reset(seed=1)[0].shape == (2, 16)


@pytest.mark.parametrize("threads", [1, 2])
def test_a_vector_steps_like_its_environments_and_resets_the_ended(threads) -> None:
    n, n_steps = 3, 100
    vector = gymnasium.make_vec("tce/BoxPushingDense-v0", num_envs=n, threads=threads)
    obs, _ = vector.reset(seed=7)
    first = vector._episode
    envs = [gymnasium.make("tce/BoxPushingDense-v0").unwrapped for _ in range(n)]
    for i, env in enumerate(envs):
        np.testing.assert_array_equal(env.reset(options={"stream": (0, 0, i, first)})[0], obs[i])
    random = np.random.default_rng(1)
    for step in range(1, n_steps + 1):
        actions = random.uniform(-1.0, 1.0, (n, 7))
        obs, rewards, terminated, truncated, infos = vector.step(actions)
        for i, env in enumerate(envs):
            mine = env.step(actions[i])
            np.testing.assert_array_equal(mine[0], obs[i])
            assert (mine[1], mine[2], mine[3]) == (rewards[i], terminated[i], truncated[i])
            assert mine[4]["episode_energy"] == infos["episode_energy"][i] and infos["_episode_energy"][i]
        assert (terminated | truncated).all() == (step == n_steps)

    # the step after the end starts the next episode, whatever the action
    obs, rewards, terminated, truncated, infos = vector.step(actions)
    for i, env in enumerate(envs):
        np.testing.assert_array_equal(env.reset(options={"stream": (0, 0, i, first + 1)})[0], obs[i])
    assert not rewards.any() and not terminated.any() and not truncated.any() and not infos["_success"].any()
    assert vector.metadata["autoreset_mode"] == gymnasium.vector.AutoresetMode.NEXT_STEP
    vector.close()


def test_a_vector_of_episodes_is_its_episodes() -> None:
    n = 4
    vector = gymnasium.make_vec("tce_ProDMP/TableTennis-v0", num_envs=n, threads=2)
    contexts, _ = vector.reset(seed=3)
    first = vector._episode
    params = 0.5 * np.random.default_rng(2).normal(size=(n, 28))
    following, returns, terminated, truncated, infos = vector.step(params)
    assert terminated.all() and not truncated.any()
    env = gymnasium.make("tce_ProDMP/TableTennis-v0").unwrapped
    for i in range(n):
        np.testing.assert_array_equal(env.reset(options={"stream": (0, 0, i, first)})[0], contexts[i])
        last, total, _, _, info = env.step(params[i])
        np.testing.assert_array_equal(last, infos["final_obs"][i])
        np.testing.assert_array_equal(info["step_rewards"], infos["final_info"]["step_rewards"][i])
        assert total == pytest.approx(returns[i], rel=1e-12)
        assert info["land_dist_error"] == infos["final_info"]["land_dist_error"][i]
        np.testing.assert_array_equal(env.reset(options={"stream": (0, 0, i, first + 1)})[0], following[i])


def test_seeds_of_vectors_repeat_their_episodes() -> None:
    vector = gymnasium.make_vec("tce/HopperJump-v0", num_envs=2)
    first = [vector.reset(seed=4)[0], vector.reset()[0]]
    again = [vector.reset(seed=4)[0], vector.reset()[0]]
    np.testing.assert_array_equal(first, again)
    assert len({tuple(obs) for obs in np.concatenate(first)}) == 4
    assert not np.array_equal(vector.reset(seed=[4, 5])[0], first[0])
    with pytest.raises(ValueError, match="None"):
        vector.reset(seed=[4, None])


def test_a_seed_starts_the_history_of_a_vector_anew() -> None:
    vector = gymnasium.make_vec("tce/MetaWorld-handle-press-v2", num_envs=2)
    first = vector.reset(seed=3)[0].copy()
    after_another = vector.reset(seed=4)[0].copy()
    assert not np.array_equal(first, after_another)
    np.testing.assert_array_equal(vector.reset(seed=3)[0], first)


# ---- ids and where the library is ---------------------------------------------------------------------------


def test_every_task_of_the_library_has_its_ids() -> None:
    for task in tce.TaskLibrary():
        for registration in tce.gym.registrations(task):
            assert f"tce_ProDMP/{registration.name}" in gymnasium.registry
    assert [tuple(r) for r in tce.gym.registrations("metaworld_door_open")] == [
        ("MetaWorld-door-open-v3", "profile=3"), ("MetaWorld-door-open-v2", "profile=2")]
    assert [tuple(r) for r in tce.gym.registrations("reacher5")] == [("Reacher5-v0", None)]


def run(code: str, **environment: str) -> "subprocess.CompletedProcess[str]":
    kept = {k: v for k, v in os.environ.items() if k != "TCE_TASKS"}
    return subprocess.run([sys.executable, "-c", code], env={**kept, **environment}, capture_output=True, text=True)


def test_without_the_task_library_the_error_says_what_was_tried() -> None:
    result = run("import tce; tce.TaskLibrary()", TCE_TASKS="/nowhere/libtce_tasks.so")
    assert "/nowhere/libtce_tasks.so" in result.stderr and "make program" in result.stderr and "TCE_TASKS" in result.stderr
    result = run(
        "import gymnasium\ntry:\n    gymnasium.make('tce.gym:tce/HopperJump-v0')\nexcept LookupError as e:\n    print(e)",
        TCE_TASKS="/nowhere/libtce_tasks.so")
    assert "make program" in result.stdout, result.stderr


def test_a_copy_of_the_library_finds_its_models(tmp_path: Path) -> None:
    copy = tmp_path / "package" / "bin" / "libtce_tasks.so"
    copy.parent.mkdir(parents=True)
    copy.write_bytes(tce.find_tasks().read_bytes())
    result = run(
        f"import os; os.chdir({str(tmp_path)!r}); import gymnasium; env = gymnasium.make('tce.gym:tce/HopperJump-v0'); print(env.reset(seed=1)[0].shape)",
        TCE_TASKS=str(copy), PYTHONPATH=str(ROOT / "bindings" / "python"), TCE_LIBRARY=os.path.abspath(tce._library.path))
    assert result.stdout.strip() == "(16,)", result.stderr
