"""The project's own tasks as Gymnasium environments: one and many, by steps and by episodes."""

from __future__ import annotations

import copy
import os
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest

import tce
from shared import ROOT

gymnasium = pytest.importorskip("gymnasium")
if not os.environ.get("TCE_TASKS") and not any(place.is_file() for place in tce.env.tasks_places()):
    pytest.skip("no libtce_tasks.so: make program", allow_module_level=True)

import tce.gym  # noqa: E402
from tce._own_tasks import OWN_TASKS  # noqa: E402
from tce._primitives import PRODMP  # noqa: E402

NAMES = ("BoxPushingDense", "BoxPushingSparse", "HopperJump", "TableTennis")
BY_STEPS = [f"tce/{name}-v0" for name in NAMES]
BY_EPISODES = [f"tce_ProDMP/{name}-v0" for name in NAMES]
# those of -v2 start where the episode before left the fixture
METAWORLD = ["tce/MetaWorld-reach-v3", "tce/MetaWorld-handle-press-v2", "tce_ProDMP/MetaWorld-dial-turn-v2"]
SMALL = [f"{space}/{name}-v0" for space in ("tce", "tce_ProDMP") for name in ("Reacher5", "PointVia")] + ["tce/Pendulum-v0"]


@pytest.mark.parametrize("name", BY_STEPS + BY_EPISODES + METAWORLD + SMALL)
def test_a_task_passes_the_checker_of_gymnasium(name: str) -> None:
    from gymnasium.utils.env_checker import check_env

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        # observations have no bounds; the space of actions is that of the task or of the primitive
        for remark in ("A Box observation space", "For Box action spaces, we recommend"):
            warnings.filterwarnings("ignore", f".*{remark}")
        env = gymnasium.make(name, render_mode="rgb_array", width=64, height=48)
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
    pos, vel = tce.ProDMP(n_dof=other.task_spec.n_dof, **PRODMP[env.task.name]).trajectory(
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
    env = gymnasium.make("tce_ProDMP/HopperJump-v0", settings="dense=1", mp={"n_basis": 5})
    assert env.action_space.shape == (18,)
    env.reset(seed=1)
    *_, info = env.step(np.zeros(18))
    assert (info["step_rewards"] > 0.0).any()
    with pytest.raises(tce.TceError, match="dense"):
        gymnasium.make("tce/HopperJump-v0", settings="densely=1")


def test_a_primitive_is_that_of_the_settings_of_its_task() -> None:
    folders = {path.parent.name for path in (ROOT / "examples" / "configs").glob("*/tce.yaml")}
    assert set(PRODMP) == folders and {"reacher5", "metaworld", "point_via"} <= folders
    options = gymnasium.make("tce_ProDMP/TableTennis-v0").unwrapped.mp.options
    assert (options.n_basis, options.tau, options.delay, options.relative_goal) == (3, 0.75, 0.3, 1)
    options = gymnasium.make("tce_ProDMP/MetaWorld-reach-v2").unwrapped.mp.options
    assert (options.n_basis, options.tau, options.basis_bandwidth_factor, options.goal_scale) == (8, 5.0, 5.0, 0.1)
    options = gymnasium.make("tce_ProDMP/Reacher5-v0").unwrapped.mp.options
    assert (options.n_basis, options.tau, options.dt, options.goal_scale, options.alpha) == (3, 1.5, 0.02, 0.5, 10.0)


@pytest.mark.parametrize("task, name", [("reacher5", "Reacher5"), ("swing", "Swing"), ("hopper_jump", "HopperJump")])
def test_a_trained_policy_fits_the_id_of_its_task(tmp_path: Path, task: str, name: str) -> None:
    words = [
        "run.iterations=1", "collect.episodes=8", "collect.environments=4", "evaluate.episodes=2", "policy.hidden=[8]", "critic.hidden=[8]",
        "policy.epochs=1", "critic.epochs=1", "critic.minibatches=1"]
    program = os.environ.get("TCE_PROGRAM", str(ROOT / "build" / "bin" / "tce"))
    subprocess.run([program, "train", f"{task}/tce", *words, "--quiet", "--out", str(tmp_path / "run")], check=True, cwd=ROOT, timeout=120)
    agent = tce.load(tmp_path / "run")
    # TCE's policies see all of an observation, those of black-box methods the context alone
    env = gymnasium.make(f"tce_ProDMP/{name}-v0", full=agent.context is None).unwrapped
    for field in ("n_basis", "tau", "delay", "dt", "alpha", "weights_scale", "goal_scale", "relative_goal"):
        assert getattr(agent.mp.options, field) == getattr(env.mp.options, field), field

    # the path that the policy plans is the one that the environment runs for its action
    context, start = env.reset(seed=3)
    plan = agent.plan(context, start["position"], start["velocity"])
    *_, info = env.step(agent.act(context))
    n = info["trajectory_length"]
    np.testing.assert_array_equal(info["positions"], plan.pos[:n])
    np.testing.assert_array_equal(info["velocities"], plan.vel[:n])


# ---- many at once -------------------------------------------------------------------------------------------


def test_vectors_made_by_gymnasium_are_the_native_ones() -> None:
    assert isinstance(gymnasium.make_vec("tce/HopperJump-v0", num_envs=2), tce.TaskVectorEnv)
    assert isinstance(gymnasium.make_vec("tce_ProDMP/HopperJump-v0", num_envs=2), tce.EpisodeVectorEnv)
    assert gymnasium.make_vec("tce/HopperJump-v0", num_envs=2, vectorization_mode="sync").reset(seed=1)[0].shape == (2, 16)


MODES = list(gymnasium.vector.AutoresetMode)


def pair(name: str, n: int, mode, **keywords):
    """A native vector, and one of single environments that Gymnasium steps one after the other."""
    return (
        gymnasium.make_vec(name, num_envs=n, autoreset_mode=mode, threads=2, **keywords),
        gymnasium.make_vec(name, num_envs=n, vectorization_mode="sync", vector_kwargs={"autoreset_mode": mode}, **keywords))


def assert_same(native, single) -> None:
    """Equal bit for bit, whether numbers, flags, or infos in infos."""
    assert type(native) is type(single)
    if isinstance(native, dict):
        assert set(native) == set(single)
        for key in native:
            assert_same(native[key], single[key])
    elif isinstance(native, (tuple, list)):
        for one, other in zip(native, single):
            assert_same(one, other)
    elif native is not None:
        assert native.dtype == single.dtype and native.shape == single.shape
        if native.dtype == object:
            assert_same(list(native), list(single))
        else:
            np.testing.assert_array_equal(native, single)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", ["tce/PointVia-v0", "tce/HopperJump-v0"])
def test_a_vector_is_what_gymnasium_makes_of_single_environments(name, mode) -> None:
    n = 3
    vectors = pair(name, n, mode)
    n_steps = vectors[0].task_spec.n_steps
    assert_same(*(vector.reset(seed=7) for vector in vectors))
    random = np.random.default_rng(1)
    ends = 0
    for step in range(n_steps + 15):
        if step == 10:
            # one of them is reset early, so that ends come apart
            mask = np.array([False, True, False])
            assert_same(*(vector.reset(seed=[None, 3, 9], options={"reset_mask": mask.copy()}) for vector in vectors))
        actions = random.uniform(-1.0, 1.0, (n, *vectors[0].single_action_space.shape))
        results = [vector.step(actions) for vector in vectors]
        assert_same(*results)
        over = results[0][2] | results[0][3]
        ends += int(over.sum())
        if mode == gymnasium.vector.AutoresetMode.DISABLED and over.any():
            with pytest.raises(gymnasium.error.ResetNeeded, match=r"environments \[.*over"):
                vectors[0].step(actions)
            assert_same(*(vector.reset(options={"reset_mask": over.copy()}) for vector in vectors))
    assert ends == 3
    assert vectors[0].metadata["autoreset_mode"] == mode
    for vector in vectors:
        vector.close()


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", ["tce_ProDMP/PointVia-v0", "tce_ProDMP/HopperJump-v0"])
def test_a_vector_of_episodes_is_what_gymnasium_makes_of_single_ones(name, mode) -> None:
    n = 2
    vectors = pair(name, n, mode)
    assert_same(*(vector.reset(seed=[3, 8]) for vector in vectors))
    random = np.random.default_rng(2)
    for step in range(4):
        params = 0.5 * random.normal(size=(n, *vectors[0].single_action_space.shape))
        native, single = (list(vector.step(params)) for vector in vectors)
        # the sum over the steps of an episode is taken in another order
        np.testing.assert_allclose(native.pop(1), single.pop(1), rtol=1e-12)
        assert_same(native, single)
        if mode == gymnasium.vector.AutoresetMode.DISABLED:
            with pytest.raises(gymnasium.error.ResetNeeded):
                vectors[0].step(params)
            for i in range(n):
                mask = np.arange(n) == i
                assert_same(*(vector.reset(options={"reset_mask": mask.copy()}) for vector in vectors))
        elif mode == gymnasium.vector.AutoresetMode.NEXT_STEP and step == 0:
            with pytest.raises(ValueError, match="reset_mask.*reset all of them"):
                vectors[0].reset(options={"reset_mask": np.array([True, False])})


@pytest.mark.parametrize("threads", [1, 3])
def test_environments_of_a_vector_start_like_single_ones_with_their_seeds(threads) -> None:
    vector = gymnasium.make_vec("tce/HopperJump-v0", num_envs=3, threads=threads)
    single = gymnasium.make("tce/HopperJump-v0")
    starts = {seed: [single.reset(seed=seed)[0], single.reset()[0]] for seed in (4, 5, 6, 11)}
    for seed in (4, np.int64(4), [4, 5, 6]):
        np.testing.assert_array_equal(vector.reset(seed=seed)[0], [starts[s][0] for s in (4, 5, 6)])
        np.testing.assert_array_equal(vector.reset()[0], [starts[s][1] for s in (4, 5, 6)])
    # whatever the others start with; None lets a generator continue
    vector.reset(seed=[4, 5, 6])
    np.testing.assert_array_equal(vector.reset(seed=[11, None, 4])[0], [starts[11][0], starts[5][1], starts[4][0]])
    assert vector.np_random_seed == (11, 5, 4) and len(vector.np_random) == 3
    assert len({tuple(obs) for obs in gymnasium.make_vec("tce/HopperJump-v0", num_envs=3).reset()[0]}) == 3
    with pytest.raises(ValueError, match="2 seeds, expected a number or one seed for each of 3"):
        vector.reset(seed=[4, 5])
    for mask in ([True, False, True], np.array([1, 0, 1]), np.zeros(3, bool), np.ones(2, bool)):
        with pytest.raises(ValueError, match="reset_mask.*numpy array of 3 bool"):
            vector.reset(options={"reset_mask": mask})


def test_a_vector_needs_a_reset_before_its_first_step() -> None:
    for name, shape in (("tce/PointVia-v0", (2, 2)), ("tce_ProDMP/PointVia-v0", (2, 12))):
        vector = gymnasium.make_vec(name, num_envs=2)
        with pytest.raises(gymnasium.error.ResetNeeded, match=r"environments \[0, 1\]"):
            vector.step(np.zeros(shape))


def test_the_action_of_an_environment_that_is_reset_is_ignored() -> None:
    vector = gymnasium.make_vec("tce/PointVia-v0", num_envs=2)
    vector.reset(seed=1)
    for _ in range(50):
        _, _, terminated, truncated, _ = vector.step(np.zeros((2, 2)))
    assert (terminated | truncated).all()
    _, rewards, terminated, truncated, infos = vector.step(np.full((2, 2), np.nan))
    assert not rewards.any() and not (terminated | truncated).any() and infos["_position"].all()
    with pytest.raises(ValueError, match="actions"):
        vector.step(np.full((2, 2), np.nan))


@pytest.mark.parametrize("name", ["tce/HopperJump-v0", "tce_ProDMP/HopperJump-v0"])
def test_a_vector_draws_its_environments(name) -> None:
    vector = gymnasium.make_vec(name, num_envs=2, render_mode="rgb_array", width=64, height=48)
    single = gymnasium.make(name, render_mode="rgb_array", width=64, height=48)
    vector.reset(seed=[3, 4])
    pictures = vector.render()
    for seed, picture in zip((3, 4), pictures):
        single.reset(seed=seed)
        np.testing.assert_array_equal(picture, single.render())
    assert vector.render_mode == "rgb_array" and vector.metadata["render_modes"] == ["rgb_array"]
    assert gymnasium.make_vec(name, num_envs=1).render() is None
    with pytest.raises(ValueError, match="render_mode: 'human'"):
        gymnasium.make_vec(name, num_envs=1, render_mode="human")


def test_a_seed_restarts_the_history_of_a_vector() -> None:
    vector = gymnasium.make_vec("tce/MetaWorld-handle-press-v2", num_envs=2)
    first = vector.reset(seed=3)[0].copy()
    after_another = vector.reset(seed=4)[0].copy()
    assert not np.array_equal(first, after_another)
    np.testing.assert_array_equal(vector.reset(seed=3)[0], first)


@pytest.mark.parametrize("mode", MODES)
def test_a_vector_has_the_histories_of_its_environments(mode) -> None:
    vectors = pair("tce/MetaWorld-handle-press-v2", 2, mode)
    random = np.random.default_rng(1)
    for seed, mask in ((3, None), (None, None), ([None, 4], None), ([5, 6], np.array([False, True]))):
        options = None if mask is None else {"reset_mask": mask}
        assert_same(*(vector.reset(seed=seed, options=options and dict(options)) for vector in vectors))
        for _ in range(5):
            actions = random.uniform(-1.0, 1.0, (2, 4))
            assert_same(*(vector.step(actions) for vector in vectors))


# ---- what a spec tells, and spaces ----------------------------------------------------------------------------


@pytest.mark.parametrize("name, limit", [
    ("tce/PointVia-v0", 50), ("tce/HopperJump-v0", 250), ("tce/TableTennis-v0", 300), ("tce/MetaWorld-reach-v3", 500),
    ("tce_ProDMP/PointVia-v0", 1), ("tce_ProDMP/HopperJump-v0", 1)])
def test_a_spec_tells_the_steps_of_an_episode(name, limit) -> None:
    env = gymnasium.make(name)
    assert env.spec.max_episode_steps == limit and env.unwrapped.spec.max_episode_steps == limit
    vector = gymnasium.make_vec(name, num_envs=2)
    assert vector.spec.max_episode_steps == limit
    # the task keeps its time by itself: it alone says how an episode ends
    assert "TimeLimit" not in str(env)
    # an environment can be made from its spec
    assert gymnasium.make(env.spec).spec.max_episode_steps == limit
    assert gymnasium.make_vec(vector.spec).num_envs == 2
    with pytest.raises(ValueError, match=f"max_episode_steps: 7, an episode of .* has {limit} steps"):
        gymnasium.make_vec(name, num_envs=2, max_episode_steps=7)


def test_a_limit_follows_the_settings() -> None:
    assert gymnasium.make("tce/TableTennis-v0", settings="terminal=1").spec.max_episode_steps == 350


def test_parameters_have_finite_bounds() -> None:
    env = gymnasium.make("tce_ProDMP/HopperJump-v0")
    assert env.action_space == gymnasium.spaces.Box(-10.0, 10.0, (12,), np.float64)
    vector = gymnasium.make_vec("tce_ProDMP/HopperJump-v0", num_envs=2, bound=3.0)
    assert vector.single_action_space == gymnasium.spaces.Box(-3.0, 3.0, (12,), np.float64)
    # they say where to look and clip nothing
    env = gymnasium.make("tce_ProDMP/PointVia-v0", bound=0.1).unwrapped
    paths = []
    for scale in (0.1, 1.0):
        env.reset(seed=1)
        paths.append(env.step(np.full(8, scale))[4]["positions"])
    assert np.abs(paths[1] - paths[0]).max() > 0.1
    # learnt times lie within the episode, and every draw of the space can be run
    env = gymnasium.make("tce_ProDMP/PointVia-v0", mp={"learn_tau": True, "learn_delay": True})
    np.testing.assert_allclose(env.action_space.low[:3], [0.2, 0.0, -10.0])
    np.testing.assert_allclose(env.action_space.high[:3], [1.0, 1.0, 10.0])
    env.action_space.seed(1)
    for _ in range(20):
        env.reset(seed=1)
        env.step(env.action_space.sample())


def test_every_registered_environment_has_bounded_actions() -> None:
    for task in tce.TaskLibrary().values():
        # those of Metaworld have one robot
        if not task.name.startswith("metaworld") or task.name == "metaworld_reach":
            spec = task.create().spec
            assert tce.gym.action_box(spec).is_bounded()
            if spec.n_dof > 0:
                box = tce.gym.parameter_box(tce.gym.primitive(task, spec, None)[0], spec, tce.gym.PARAMETER_BOUND)
                assert box.is_bounded()


@pytest.mark.parametrize("name", ["tce/PointVia-v0", "tce/HopperJump-v0", "tce/MetaWorld-reach-v2"])
def test_steps_without_an_episode_are_refused(name) -> None:
    env = gymnasium.make(name).unwrapped
    action = np.zeros(env.action_space.shape)
    with pytest.raises(gymnasium.error.ResetNeeded, match="never begun"):
        env.step(action)
    env.reset(seed=1)
    while not any(env.step(action)[2:4]):
        pass
    with pytest.raises(gymnasium.error.ResetNeeded, match="over"):
        env.step(action)
    env.reset()
    env.step(action)


# ---- ids and where the library is ---------------------------------------------------------------------------


def test_every_task_of_the_library_has_its_ids() -> None:
    for task in tce.TaskLibrary():
        for registration in tce.gym.registrations(task):
            assert f"tce/{registration.name}" in gymnasium.registry
            assert (f"tce_ProDMP/{registration.name}" in gymnasium.registry) == OWN_TASKS.get(task, True)
    assert [tuple(r) for r in tce.gym.registrations("metaworld_door_open")] == [
        ("MetaWorld-door-open-v3", "profile=3"), ("MetaWorld-door-open-v2", "profile=2")]
    assert [tuple(r) for r in tce.gym.registrations("reacher5")] == [("Reacher5-v0", None)]


def test_no_id_is_out_of_date() -> None:
    from gymnasium.envs.registration import find_highest_version, parse_env_id

    ids = [name for name in gymnasium.registry if name.startswith(("tce/", "tce_ProDMP/"))]
    assert "tce/MetaWorld-door-open-v2" in ids and "tce_ProDMP/MetaWorld-door-open-v3" in ids
    for name in ids:
        space, plain, version = parse_env_id(name)
        assert (find_highest_version(space, plain) or 0) <= version, name
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for name in ("tce/MetaWorld-reach-v2", "tce/MetaWorld-reach-v3", "tce_ProDMP/MetaWorld-reach-v2"):
            assert gymnasium.make(name).spec.id == name
            assert gymnasium.make_vec(name, num_envs=1).spec.id == name
            assert gymnasium.spec(name).kwargs["settings"] == f"profile={name[-1]}"


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
    for library in tce.find_tasks().parent.glob("libtce_tasks*.so"):
        (copy.parent / library.name).write_bytes(library.read_bytes())
    result = run(
        f"import os; os.chdir({str(tmp_path)!r}); import gymnasium; env = gymnasium.make('tce.gym:tce/HopperJump-v0'); print(env.reset(seed=1)[0].shape)",
        TCE_TASKS=str(copy), PYTHONPATH=str(ROOT / "bindings" / "python"), TCE_LIBRARY=os.path.abspath(tce._library.path))
    assert result.stdout.strip() == "(16,)", result.stderr


def test_a_vector_refuses_actions_and_seeds_before_anything_moves() -> None:
    vector, twin = (gymnasium.make_vec("tce/PointVia-v0", 3) for _ in range(2))
    vector.reset(seed=1)
    twin.reset(seed=1)
    n_action = vector.single_action_space.shape[0]
    for wrong in (np.ones((2, n_action)), np.ones((1, n_action)), np.ones(n_action)):
        with pytest.raises(ValueError, match=r"actions: shape \[.*\], expected \[N=3, A="):
            vector.step(wrong)
    with pytest.raises(ValueError, match="seed: 1.5, expected an integer"):
        vector.reset(seed=[1.5, 2, 3])
    same = np.zeros((3, n_action))
    assert np.array_equal(vector.step(same)[0], twin.step(same)[0])


def test_environments_are_not_copied_by_halves() -> None:
    for env in (gymnasium.make("tce/PointVia-v0").unwrapped, gymnasium.make_vec("tce/PointVia-v0", 2)):
        with pytest.raises(TypeError, match="cannot be copied"):
            copy.copy(env)
