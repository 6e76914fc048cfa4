"""Environments in both directions: Python ones for the C side, C ones for Gymnasium."""

from __future__ import annotations

import dataclasses
import gc
import threading
import warnings
import weakref
from typing import Any

import numpy as np
import pytest

import tce

gymnasium = pytest.importorskip("gymnasium")


class Line(tce.Env):
    """A point on a line that follows its path exactly; ends early when told to."""

    alive = 0

    def __init__(self, settings=None, n_steps=10) -> None:
        self.spec = tce.EnvSpec(
            n_obs=2, n_dof=1, n_steps=n_steps, dt=0.1, n_action=1, metric_names=("travel", "success"), context=(0,),
            action_low=np.array([-1.0]), action_high=np.array([1.0]))
        self.settings = settings
        Line.alive += 1

    def reset(self, random):
        self.x, self.travel, self.count = random.uniform(), 0.0, 0
        return [self.x, 0.0], [self.x], [0.0]

    def step(self, pos, vel):
        if pos[0] > 90.0:
            raise RuntimeError("fell off\nthe line")
        if pos[0] > 80.0:
            return [np.nan, 0.0], 0.0
        self.travel += abs(pos[0] - self.x)
        self.x = pos[0]
        self.count += 1
        return tce.StepResult(
            np.array([self.x, vel[0]]), -self.x, terminated=self.x > 5.0, truncated=self.count >= 10,
            event=self.count >= 3)

    def step_action(self, action):
        return self.step(np.array([self.x + action[0]]), np.zeros(1))

    def metrics(self):
        return [self.travel, float(self.x > 1.0)]

    def close(self) -> None:
        Line.alive -= 1


@pytest.fixture
def task() -> tce.PythonTask:
    return tce.PythonTask(Line, "line", "a point on a line")


def test_a_python_environment_runs_along_paths(task) -> None:
    rollout = tce.Rollout(task, 3, seed=5)
    assert rollout.spec.metric_names == ("travel", "success") and rollout.spec.context == (0,)
    assert rollout.spec.action_low.tolist() == [-1.0]
    obs, pos, vel = rollout.reset(episode=2)
    want = [tce.Random(5, 0, i, 2).uniform() for i in range(3)]
    assert obs[:, 0].tolist() == pos[:, 0].tolist() == want
    path = np.linspace(0, 1, 10)[None, :, None] * np.array([1.0, 2.0, 20.0])[:, None, None]
    speed = np.ones_like(path)
    paths = rollout.run(path, speed)
    assert paths.obs.shape == (3, 11, 2) and paths.obs[:, 0].tolist() == obs.tolist()
    np.testing.assert_array_equal(paths.obs[:2, 1:, 0], path[:2, :, 0])
    np.testing.assert_array_equal(paths.rewards[:2], -path[:2, :, 0])
    assert paths.lengths.tolist() == [10, 10, 4]
    assert paths.truncated[0].tolist() == [0] * 9 + [1] and paths.terminated[2].tolist() == [0] * 3 + [1] * 7
    assert paths.events[0].tolist() == [0, 0] + [1] * 8
    assert paths.metrics[:, 1].tolist() == [0.0, 1.0, 1.0]
    np.testing.assert_array_equal(rollout.metrics(), paths.metrics)
    with pytest.raises(ValueError, match=r"pos: shape \[3, 10, 2\]"):
        rollout.run(np.zeros((3, 10, 2)), np.zeros((3, 10, 2)))


def test_a_python_environment_takes_raw_actions(task) -> None:
    rollout = tce.Rollout(task, 2)
    start, _, _ = rollout.reset()
    obs, results = rollout.step([[0.5], [-0.5]])
    np.testing.assert_allclose(obs[:, 0] - start[:, 0], [0.5, -0.5])
    np.testing.assert_allclose(results["reward"], -obs[:, 0])
    assert not results["terminated"].any()
    again, _, _ = rollout.reset_where([tce.Random(0, 0, 1, 0)], [1])
    assert again[0].tolist() == start[1].tolist()


@pytest.mark.parametrize("low, message", [([-1.0, -2.0], "action_low: 2 numbers, expected 1"), ([], "action_low: 0 numbers, expected 1")])
def test_bounds_of_actions_must_fit_the_action(low, message) -> None:
    class Bounded(Line):
        def __init__(self, settings) -> None:
            super().__init__(settings)
            self.spec = dataclasses.replace(self.spec, action_low=low)

    with pytest.raises(tce.EnvironmentFault, match=message):
        tce.Rollout(tce.PythonTask(Bounded))


class Unmarked(Line):
    """Does not say which step is the last."""

    def step(self, pos, vel):
        return super().step(pos, vel)._replace(truncated=False)


def test_the_last_step_is_an_end_whatever_the_environment_says(task) -> None:
    path = np.random.default_rng(2).uniform(0, 1, (3, 10, 1))
    results = []
    for one in (task, tce.PythonTask(Unmarked)):
        rollout = tce.Rollout(one, 3, seed=5)
        rollout.reset()
        results.append(rollout.run(path, path))
    np.testing.assert_array_equal(results[0].truncated, [[0] * 9 + [1]] * 3)
    np.testing.assert_array_equal(results[1].truncated, results[0].truncated)
    np.testing.assert_array_equal(results[1].rewards, results[0].rewards)

    # single steps of a rollout end too, and then nothing happens until the reset
    rollout.reset()
    flags = [rollout.step(np.zeros((3, 1)))[1]["truncated"].tolist() for _ in range(12)]
    assert flags == [[0] * 3] * 9 + [[1] * 3] * 3

    # and in Gymnasium, where a step after the end is refused
    env = tce.TaskEnv(tce.PythonTask(Unmarked))
    env.reset(seed=1)
    assert [env.step(np.zeros(1))[3] for _ in range(10)] == [False] * 9 + [True]
    with pytest.raises(tce.StateError, match="reset the environment"):
        env.step(np.zeros(1))


def test_a_python_environment_is_not_stepped_outside_of_an_episode() -> None:
    env = tce.PythonTask(Line, "line").create()
    with pytest.raises(tce.StateError, match="line: the episode is over or was never begun"):
        env.step([0.0], [0.0])
    env.reset(tce.Random(1))
    assert env.step([6.0], [0.0]).terminated
    with pytest.raises(tce.StateError):
        env.step([0.0], [0.0])
    env.reset(tce.Random(1))
    assert not env.step([0.0], [0.0]).terminated


def test_settings_reach_the_environment() -> None:
    seen = []

    def factory(settings):
        seen.append(settings)
        return Line(settings)

    tce.Rollout(tce.PythonTask(factory), 2, settings="a=1\nb=2")
    assert seen == ["a=1\nb=2"] * 2


def test_exceptions_become_faults_with_index_and_last_line(task) -> None:
    rollout = tce.Rollout(task, 3)
    rollout.reset()
    path = np.zeros((3, 4, 1))
    path[1, 2] = 99.0
    with pytest.raises(tce.EnvironmentFault) as caught:
        rollout.run(path, path)
    assert caught.value.name == "TCE_E_ENV"
    assert "the line" in caught.value.message and "1" in caught.value.message
    assert isinstance(caught.value.__cause__, RuntimeError)
    faults = rollout.status()
    assert [fault is None for fault in faults] == [True, False, True]
    # the others and the next episode are not harmed
    rollout.reset(episode=1)
    assert rollout.run(np.zeros((3, 4, 1)), np.zeros((3, 4, 1))).lengths.tolist() == [4, 4, 4]
    assert rollout.status() == [None] * 3


def test_faults_can_be_dropped(task) -> None:
    rollout = tce.Rollout(task, 3, on_fault="drop")
    rollout.reset()
    path = np.zeros((3, 4, 1))
    path[1, 2], path[2, 1] = 99.0, 85.0
    paths = rollout.run(path, path)
    assert paths.lengths.tolist() == [4, 0, 0]
    assert [None if f is None else f.name for f in rollout.status()] == [None, "TCE_E_ENV", "TCE_E_ENV_NAN"]


def test_wrong_sizes_from_an_environment_are_faults() -> None:
    class Wrong(Line):
        def reset(self, random):
            return [0.0], [0.0], [0.0]

    with pytest.raises(tce.EnvironmentFault, match="obs: 1 numbers, expected 2"):
        tce.Rollout(tce.PythonTask(Wrong)).reset()


def test_a_failing_constructor_is_reported() -> None:
    def factory(settings):
        raise FileNotFoundError("no model")

    with pytest.raises(tce.EnvironmentFault, match="no model") as caught:
        tce.Rollout(tce.PythonTask(factory), 2)
    assert isinstance(caught.value.__cause__, FileNotFoundError)


def test_an_interrupt_is_raised_as_such() -> None:
    class Stopped(Line):
        def step(self, pos, vel):
            raise KeyboardInterrupt

    rollout = tce.Rollout(tce.PythonTask(Stopped), 2)
    rollout.reset()
    with pytest.raises(KeyboardInterrupt):
        rollout.run(np.zeros((2, 3, 1)), np.zeros((2, 3, 1)))


def test_an_environment_without_paths_says_so() -> None:
    class Actions(Line):
        step = tce.Env.step

    rollout = tce.Rollout(tce.PythonTask(Actions))
    rollout.reset()
    with pytest.raises(tce.UnsupportedError, match="tracks no path"):
        rollout.run(np.zeros((1, 3, 1)), np.zeros((1, 3, 1)))


def test_environments_run_on_a_pool_with_the_same_results(task) -> None:
    path = np.random.default_rng(1).uniform(0, 4, (16, 10, 1))
    results = []
    for n in (1, 2, 5):
        with tce.Pool(n) as pool, tce.Rollout(task, 16, seed=3, pool=pool) as rollout:
            first, _, _ = rollout.reset()
            paths = rollout.run(path, path)
            results.append((first, paths.obs, paths.rewards, paths.metrics))
    for other in results[1:]:
        for got, want in zip(other, results[0]):
            np.testing.assert_array_equal(got, want)


def test_a_pool_and_python_threads_together(task) -> None:
    wrong = []

    def work(seed: int) -> None:
        with tce.Pool(2) as pool, tce.Rollout(task, 8, seed=seed, pool=pool) as rollout:
            for episode in range(20):
                obs, _, _ = rollout.reset(episode)
                if obs[7, 0] != tce.Random(seed, 0, 7, episode).uniform():
                    wrong.append(seed)
                rollout.run(np.zeros((8, 5, 1)), np.zeros((8, 5, 1)))

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_environments_are_closed_with_their_rollout() -> None:
    gc.collect()
    before = Line.alive
    task = tce.PythonTask(Line)
    rollout = tce.Rollout(task, 4)
    assert Line.alive == before + 4
    rollout.close()
    assert Line.alive == before
    reference = weakref.ref(task)
    rollout = tce.Rollout(task, 1)
    del task
    gc.collect()
    assert reference() is not None  # kept by the rollout
    rollout.reset()
    del rollout
    gc.collect()
    assert reference() is None and Line.alive == before


# ---- the checker ---------------------------------------------------------------------------------------------


class Unfinished(Line):
    def step(self, pos, vel):
        result = super().step(pos, vel)
        result.obs[1] = np.nan if self.count == 4 else 0.0
        return result


class Remembers(Line):
    travelled = 0.0

    def step(self, pos, vel):
        self.travelled += abs(pos[0])
        result = super().step(pos, vel)
        return result._replace(reward=result.reward - self.travelled)


class Noisy(Line):
    def reset(self, random):
        super().reset(random)
        self.x = float(np.random.default_rng().uniform())
        return [self.x, 0.0], [self.x], [0.0]


class Elsewhere(Line):
    def reset(self, random):
        obs, pos, vel = super().reset(random)
        return [self.x, 0.0], [0.0], vel


class Forgets(Line):
    def step(self, pos, vel):
        return super().step(pos, vel)._replace(event=self.count == 3)


class Undecided(Line):
    def metrics(self):
        return [self.travel, 0.5]


class Raises(Line):
    def step(self, pos, vel):
        raise RuntimeError("fell off")


def test_sound_environments_pass_the_checker(tasks) -> None:
    assert tce.check_env(Line) == []
    assert tce.check_env(Line()) == []
    assert tce.check_env(lambda settings: Line(settings)) == []
    assert tce.check_env(tce.PythonTask(Unmarked)) == []
    assert tce.check_env(tce.GymTask(Mass, n_steps=12, position=[0], velocity=[1], kp=100.0, kd=15.0)) == []
    assert tce.check_env(tce.TaskLibrary(tasks)["point"]) == []
    with pytest.raises(TypeError, match="expected a tce.Task"):
        tce.check_env(3)


def test_what_may_be_meant_is_returned() -> None:
    class Always(Line):
        def reset(self, random):
            return super().reset(tce.Random(1))

    assert [text[:24] for text in tce.check_env(Always)] == ["all episodes start alike"]
    remarks = tce.check_env(tce.GymTask(Mass, n_steps=12))
    assert len(remarks) == 1 and "by raw actions only" in remarks[0]


@pytest.mark.parametrize("env, words", [
    (Unfinished, r"Unfinished: observation\[1\] = nan after step: it is not finite"),
    (Remembers, "a used environment gives another episode .*: the reward of step 1 is .*; have reset set all"),
    (Noisy, r"a second environment gives another episode .*observation\[0\] at the start .*from the tce_random of reset alone"),
    (Elsewhere, r"the first step moves observation\[0\] .*have reset give the position"),
    (Forgets, "event is set before step 4 and not after it: once set it stays set"),
    (Undecided, 'metric "success" is 0.5: it is 0 or 1'),
    (Raises, "step fails at step 1 of an episode: RuntimeError: fell off"),
])
def test_broken_environments_fail_the_checker(env, words) -> None:
    with pytest.raises(tce.EnvironmentFault, match=words):
        tce.check_env(env)


def test_the_cause_of_a_fault_is_kept() -> None:
    with pytest.raises(tce.EnvironmentFault) as caught:
        tce.check_env(Raises)
    assert isinstance(caught.value.__cause__, RuntimeError)


# ---- Gymnasium environments for libtce ------------------------------------------------------------------


class Mass(gymnasium.Env):
    """A mass on a line, pushed by a force."""

    metadata = {"render_modes": [], "render_fps": 20}
    observation_space = gymnasium.spaces.Box(-np.inf, np.inf, (2,), np.float32)
    action_space = gymnasium.spaces.Box(-50.0, 50.0, (1,), np.float32)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.state = np.array([self.np_random.uniform(), 0.0])
        return self.state.astype(np.float32), {}

    def step(self, action):
        self.state[1] += 0.05 * float(action[0])
        self.state[0] += 0.05 * self.state[1]
        return self.state.astype(np.float32), -float(self.state[0] ** 2), False, False, {"place": self.state[0]}


def test_the_id_of_a_gymnasium_environment_becomes_the_name_of_a_task() -> None:
    gymnasium.register("point/Mass-v1", entry_point=Mass)
    try:
        task = tce.GymTask("point/Mass-v1", n_steps=3)
        assert task.name == "point_Mass-v1"
        tce.Rollout(task, 1).close()
        with pytest.raises(ValueError, match="rename the task"):
            tce.Rollout(tce.GymTask(Mass, n_steps=3, name="../mass"), 1)
    finally:
        del gymnasium.registry["point/Mass-v1"]


def test_a_gymnasium_environment_tracks_a_path() -> None:
    task = tce.GymTask(
        Mass, n_steps=40, position=[0], velocity=[1], kp=100.0, kd=15.0, metrics={"where": "place"}, name="mass")
    rollout = tce.Rollout(task, 4, seed=1)
    assert (rollout.spec.n_obs, rollout.spec.n_dof, rollout.spec.n_action, rollout.spec.n_steps) == (2, 1, 1, 40)
    assert rollout.spec.dt == pytest.approx(0.05)
    _, pos, vel = rollout.reset()
    assert len(set(pos[:, 0])) == 4
    mp = tce.ProDMP(n_dof=1, n_basis=3, tau=2.0, dt=0.05, alpha=10)
    params = np.zeros((4, 4))
    params[:, 3] = [1.0, -1.0, 0.5, 2.0]
    want = mp.trajectory(params, np.arange(1, 41) * 0.05, 0.0, pos, vel)
    paths = rollout.run(*want)
    np.testing.assert_allclose(paths.obs[:, -1, 0], want[0][:, -1, 0], atol=0.05)
    np.testing.assert_allclose(paths.metrics[:, 0], paths.obs[:, -1, 0], atol=1e-6)
    assert paths.truncated[:, -1].all()
    # the same stream gives the same episode
    again, _, _ = rollout.reset()
    np.testing.assert_array_equal(again[:, 0], pos[:, 0])


def test_a_gymnasium_environment_with_a_controller_of_its_own() -> None:
    task = tce.GymTask(Mass, n_steps=5, controller=lambda obs, pos, vel: [10.0 * (pos[0] - obs[0])], n_dof=1)
    rollout = tce.Rollout(task)
    obs, _, _ = rollout.reset()
    paths = rollout.run(np.ones((1, 5, 1)), np.zeros((1, 5, 1)))
    assert paths.obs[0, 1, 1] == pytest.approx(0.05 * 10.0 * (1.0 - obs[0, 0]), rel=1e-5)


def test_a_gymnasium_environment_is_stepped_by_its_action() -> None:
    rollout = tce.Rollout(tce.GymTask(Mass, n_steps=3), 2)
    rollout.reset()
    for i in range(3):
        obs, results = rollout.step([[1.0], [1000.0]])
        assert results["truncated"].tolist() == [int(i == 2)] * 2
    assert obs[:, 1] == pytest.approx([0.15, 7.5], rel=1e-5)  # clipped to the Box
    with pytest.raises(tce.UnsupportedError, match="tracks no desired paths.*step"):
        rollout.reset()
        rollout.run(np.zeros((2, 3, 1)), np.zeros((2, 3, 1)))


def test_a_registered_environment_by_its_id() -> None:
    rollout = tce.Rollout(tce.GymTask("Pendulum-v1"), 2)
    assert (rollout.spec.n_obs, rollout.spec.n_action, rollout.spec.n_steps) == (3, 1, 200)
    rollout.reset()
    obs, results = rollout.step(np.zeros((2, 1)))
    assert np.isfinite(obs).all() and (results["reward"] <= 0.0).all()


def test_spaces_must_be_boxes() -> None:
    # said where the task is made, not where it is used
    with pytest.raises(TypeError, match="action_space: Discrete.*both a Box"):
        tce.GymTask("CartPole-v1")
    with pytest.raises(TypeError, match="observation_space: Discrete"):
        tce.GymTask("FrozenLake-v1")
    several = gymnasium.wrappers.TransformObservation(
        gymnasium.make("Pendulum-v1"), lambda obs: {"angle": obs[:2], "speed": obs[2:]},
        gymnasium.spaces.Dict(angle=gymnasium.spaces.Box(-1, 1, (2,)), speed=gymnasium.spaces.Box(-8, 8, (1,))))
    with pytest.raises(TypeError, match="observation_space: Dict.*FlattenObservation"):
        tce.GymTask(lambda: several)
    flat = gymnasium.wrappers.FlattenObservation(several)
    assert tce.Rollout(tce.GymTask(lambda: flat, n_steps=5), 1).spec.n_obs == 3
    with pytest.raises(ValueError, match="n_steps"):
        tce.GymTask(Mass)


def test_an_environment_that_cannot_serve_is_closed() -> None:
    made = []

    class Closing(Mass):
        def __init__(self) -> None:
            super().__init__()
            made.append(self)
            self.closed = False

        def close(self) -> None:
            self.closed = True

    with pytest.raises(ValueError, match="n_steps"):
        tce.GymTask(Closing)
    assert [env.closed for env in made] == [True]
    made.clear()
    with tce.Rollout(tce.GymTask(Closing, n_steps=3), 2):
        assert len(made) == 2  # the one that was checked is the first
    assert all(env.closed for env in made)


def test_episodes_of_a_rollout_from_streams(task) -> None:
    rollout = tce.Rollout(task, 3, seed=5)
    want = rollout.reset(episode=2)
    streams = [tce.Random(5, 0, i, 2) for i in range(3)]
    for got, start in zip(rollout.reset_where(streams), want):
        np.testing.assert_array_equal(got, start)
    # streams move on, and some environments alone can be reset
    assert streams[0].state != tce.Random(5, 0, 0, 2).state
    obs, _, _ = rollout.reset_where([tce.Random(5, 0, 0, 2), 7], [1, 2])
    np.testing.assert_array_equal(obs[0], want[0][0])
    paths = rollout.run(np.zeros((3, 10, 1)), np.zeros((3, 10, 1)))
    np.testing.assert_array_equal(paths.obs[:, 0], [want[0][0], obs[0], obs[1]])
    with pytest.raises(ValueError, match="which"):
        rollout.reset_where([1, 2], [2, 1])
    with pytest.raises(ValueError, match="which: -1"):
        rollout.reset_where([1], [-1])


def test_one_environment_of_a_rollout_is_drawn_and_put_into_a_state(tasks) -> None:
    rollout = tce.Rollout(tce.TaskLibrary(tasks)["point"], 2)
    rollout.reset()
    states = rollout.get_states()
    assert rollout.render(1, 8, 6).shape == (6, 8, 3)
    rollout.set_state(1, states[0])
    np.testing.assert_array_equal(rollout.get_states(), states[[0, 0]])
    with pytest.raises(ValueError, match="i: 2"):
        rollout.render(2)
    with pytest.raises(tce.UnsupportedError, match="render"):
        tce.Rollout(tce.TaskLibrary(tasks)["tracker"]).render(0)


def test_a_rollout_continues_from_states(tasks) -> None:
    task = tce.TaskLibrary(tasks)["point"]
    first, other = tce.Rollout(task, 2, seed=3), tce.Rollout(task, 2)
    start = first.reset(4)
    np.testing.assert_array_equal(other.set_states(first.get_states()), start.obs)
    path = np.linspace(0, 1, first.spec.n_steps)[None, :, None] * np.ones((2, 1, first.spec.n_dof))
    want, got = first.run(path, path), other.run(path, path)
    np.testing.assert_array_equal(got.rewards, want.rewards)
    np.testing.assert_array_equal(got.truncated, want.truncated)


def test_an_instance_is_not_stepped_outside_of_an_episode(tasks) -> None:
    # a task that does not look after itself
    instance = tce.TaskLibrary(tasks)["point"].create()
    with pytest.raises(tce.StateError, match="point: the episode is over or was never begun"):
        instance.step_action([0.0, 0.0])
    instance.reset(1)
    results = [instance.step_action([0.0, 0.0])]
    while not (results[-1].terminated or results[-1].truncated):
        results.append(instance.step_action([0.0, 0.0]))
    assert len(results) == instance.spec.n_steps and not instance.running
    with pytest.raises(tce.StateError, match="over"):
        instance.step_action([0.0, 0.0])
    # a state that is put back is one to continue from
    instance.set_state(instance.get_state())
    assert instance.running


# ---- tasks of libraries as Gymnasium environments -----------------------------------------------------------


def test_a_task_library_lists_its_tasks(tasks) -> None:
    library = tce.TaskLibrary(tasks)
    assert list(library) == ["point", "tracker"] and len(library) == 2
    assert library["point"].description == "a point that goes where it is told"
    with pytest.raises(KeyError, match="point"):
        library["pointe"]
    with pytest.raises(tce.NotFoundError):
        tce.TaskLibrary("/nowhere/tasks.so")
    with pytest.raises(tce.LibraryError):
        tce.TaskLibrary(tce._library.path)


@pytest.mark.parametrize("name, control", [("point", None), ("point", "path"), ("tracker", None)])
def test_a_task_passes_the_checker_of_gymnasium(tasks, name, control) -> None:
    from gymnasium.utils.env_checker import check_env

    env = tce.gym_env(tasks, name, control=control)
    with warnings.catch_warnings():
        # unbounded spaces and a missing registration are remarked on, not refused
        warnings.simplefilter("ignore")
        check_env(env, skip_render_check=False)
    env.close()


def test_a_task_behaves_the_same_in_gymnasium_and_in_a_rollout(tasks) -> None:
    library = tce.TaskLibrary(tasks)
    env = tce.TaskEnv(library["point"])
    rollout = tce.Rollout(library["point"], 3, seed=4, purpose=1)
    obs, pos, vel = rollout.reset(episode=6)
    mine, info = env.reset(options={"stream": (4, 1, 2, 6)})
    np.testing.assert_array_equal(mine, obs[2])
    np.testing.assert_array_equal(info["position"], pos[2])
    for _ in range(20):
        actions = np.random.default_rng(1).uniform(-2, 2, (3, 2))
        obs, results = rollout.step(actions)
        mine, reward, terminated, truncated, info = env.step(actions[2])
        np.testing.assert_array_equal(mine, obs[2])
        assert (reward, terminated, truncated) == tuple(results[2].tolist()[:3])
    assert truncated and info["distance"] == rollout.metrics()[2, 1]


@pytest.mark.parametrize("wrong", [np.nan, np.inf, -np.inf])
def test_an_action_that_is_not_finite_is_refused_and_changes_nothing(tasks, wrong) -> None:
    for control, size, name in (("action", 2, "action"), ("path", 4, "vel")):
        env = tce.gym_env(tasks, "point", control=control)
        env.reset(seed=3)
        task = env.unwrapped
        before = task._instance.get_state()
        action = np.zeros(size)
        action[-1] = wrong
        with pytest.raises(ValueError, match=f"{name}: entry 1 is {wrong}, expected finite numbers"):
            task.step(action)
        np.testing.assert_array_equal(task._instance.get_state(), before)
        env.close()


def test_seeds_repeat_episodes(tasks) -> None:
    env = tce.gym_env(tasks, "point")
    first = [env.reset(seed=3)[0]] + [env.reset()[0] for _ in range(3)]
    again = [env.reset(seed=3)[0]] + [env.reset()[0] for _ in range(3)]
    np.testing.assert_array_equal(first, again)
    assert len({tuple(obs) for obs in first}) == 4


def test_states_and_pictures(tasks) -> None:
    instance = tce.TaskLibrary(tasks)["point"].create()
    instance.reset(tce.Random(1))
    instance.step([0.1, 0.2], [0.0, 0.0])
    state = instance.get_state()
    after = instance.step_action([1.0, -1.0]).obs
    instance.set_state(state)
    np.testing.assert_array_equal(instance.step_action([1.0, -1.0]).obs, after)
    assert instance.render(8, 6).shape == (6, 8, 3)
    env = tce.gym_env(tasks, "point", render_mode="rgb_array", width=8, height=6)
    env.reset(seed=1)
    assert env.render().shape == (6, 8, 3)
    other = tce.TaskLibrary(tasks)["tracker"].create()
    with pytest.raises(tce.UnsupportedError, match="tracker does not offer step_action"):
        other.step_action([])
    with pytest.raises(ValueError, match="render_mode"):
        tce.gym_env(tasks, "tracker", render_mode="rgb_array")
    with pytest.raises(ValueError, match="no raw action"):
        tce.gym_env(tasks, "tracker", control="action")
    other.close()
    with pytest.raises(ValueError, match="closed"):
        other.metrics()


def test_a_library_is_registered_with_gymnasium(tasks) -> None:
    from tce.gym import register

    assert register(tasks, "test") == ["test/Point-v0", "test_ProDMP/Point-v0", "test_ProDMP/Tracker-v0"]
    env = gymnasium.make("test/Point-v0", disable_env_checker=True)
    obs, _ = env.reset(seed=1)
    assert env.observation_space.contains(obs)


def test_a_library_outlives_the_name_it_was_given(tasks) -> None:
    env = tce.gym_env(tasks, "point")
    rollout = tce.Rollout(tce.TaskLibrary(tasks)["point"], 2)
    gc.collect()
    env.reset(seed=1)
    rollout.reset()
    # a Python task is an environment of Gymnasium too
    line = tce.TaskEnv(tce.PythonTask(Line))
    line.reset(seed=1)
    assert line.step(np.array([0.5]))[1] < 0.0


def test_rewards_move_to_the_event() -> None:
    rewards = np.array([[1.0, 2.0, 3.0, 4.0]])
    got = tce.returns.to_event(rewards, [[0, 1, 1, 1]])
    assert got.tolist() == [[1.0, 9.0, 0.0, 0.0]] and rewards[0, 1] == 2.0


@pytest.mark.parametrize("draw, name", [(lambda: np.random.normal(), "np.random"), (lambda: __import__("random").random(), "random")])
def test_global_random_numbers_are_found(draw: Any, name: str) -> None:
    class Careless(Line):
        def step(self, pos: Any, vel: Any) -> Any:
            draw()
            return super().step(pos, vel)

    with pytest.raises(tce.EnvironmentFault, match=f"it draws from the global random numbers of {name},"):
        tce.check_env(Careless)
