"""Tasks of C libraries as Gymnasium environments. Needs the package gymnasium.

Importing this module registers the project's own tasks: ``tce/<Task>-v0`` takes the raw action of every step, ``tce_ProDMP/<Task>-v0`` the parameters
of a movement primitive for a whole episode. ``gymnasium.make("tce.gym:tce/HopperJump-v0")`` imports it by itself.
"""

from __future__ import annotations

import os
import warnings
from typing import Any, Dict, List, NamedTuple, Optional, Tuple, Union

import gymnasium
import numpy as np
from gymnasium.vector import AutoresetMode

from ._arrays import AnyArray, Array
from .base import Pool, Random
from .env import EnvSpec, Instance, StepResult, Task, TaskLibrary
from .errors import TceError
from .mp import ProDMP
from .rollout import Rollout

Library = Union[str, "os.PathLike[str]", TaskLibrary, None]
Box = gymnasium.spaces.Box

# Published primitives: the section mp of examples/configs/<task>/tce.yaml. Others: 5 basis functions, as long as the episode.
_BOX = dict(
    num_basis=8, tau=2.0, dt=0.02, table_length=5, alpha=10, alpha_phase=3, basis_bandwidth_factor=3, weights_scale=0.3, goal_scale=0.3,
    relative_goal=False, auto_scale_basis=True)
PRODMP: Dict[str, Dict[str, Any]] = {
    "box_pushing_dense": _BOX,
    "box_pushing_sparse": _BOX,
    "hopper_jump": dict(
        num_basis=3, tau=0.8, dt=0.008, table_length=5, alpha=10, alpha_phase=3, basis_bandwidth_factor=3, weights_scale=1, goal_scale=1,
        relative_goal=False, auto_scale_basis=True),
    "table_tennis": dict(
        num_basis=3, tau=0.75, delay=0.3, dt=0.008, table_length=5, alpha=25, alpha_phase=3, basis_bandwidth_factor=3, weights_scale=0.7,
        goal_scale=0.1, relative_goal=True, auto_scale_basis=True),
}
PRODMP_METAWORLD: Dict[str, Any] = dict(
    num_basis=8, tau=5.0, dt=0.0125, table_length=5, alpha=10, alpha_phase=3, basis_bandwidth_factor=5, weights_scale=0.1, goal_scale=0.1,
    relative_goal=True, auto_scale_basis=True)
# ids that exist whether or not the task library is there: making one says what is missing
OWN_TASKS = ("box_pushing_dense", "box_pushing_sparse", "hopper_jump", "table_tennis", "reacher5", "point_via")
METAWORLD = "metaworld_"


class Registration(NamedTuple):
    """One id of a task: its name without namespace, and the task's options."""

    name: str
    settings: Optional[str]


def registrations(task: str) -> List[Registration]:
    """The ids of a task: BoxPushingDense-v0 for box_pushing_dense; MetaWorld-door-open-v3 and -v2 for metaworld_door_open."""
    if task.startswith(METAWORLD):
        name = "MetaWorld-" + task[len(METAWORLD):].replace("_", "-")
        return [Registration(f"{name}-v{profile}", f"profile={profile}") for profile in (3, 2)]
    return [Registration("".join(word[:1].upper() + word[1:] for word in task.split("_")) + "-v0", None)]


def open_library(library: Library) -> TaskLibrary:
    return library if isinstance(library, TaskLibrary) else TaskLibrary(library)


def unbounded(*shape: int) -> Box:
    return Box(-np.inf, np.inf, shape, np.float64)


def action_box(spec: EnvSpec) -> Box:
    n = spec.n_action
    low, high = spec.action_low, spec.action_high
    return Box(np.full(n, -np.inf) if low is None else low, np.full(n, np.inf) if high is None else high, (n,), np.float64)


def takes_actions(task: Task, spec: EnvSpec) -> bool:
    return bool(task._table.step_action) and spec.n_action > 0


def primitive(task: Task, spec: EnvSpec, mp: Optional[Dict[str, Any]]) -> Tuple[ProDMP, Array]:
    """The task's ProDMP, with keywords of ``mp`` before the published ones, and the times of an episode's steps."""
    other = {"num_basis": 5, "tau": spec.n_steps * spec.dt, "dt": spec.dt}
    published = PRODMP_METAWORLD if task.name.startswith(METAWORLD) else PRODMP.get(task.name, other)
    keywords = {**published, **(mp or {})}
    return ProDMP(num_dof=spec.n_dof, **keywords), spec.dt * np.arange(1, spec.n_steps + 1)


def context_of(spec: EnvSpec, obs: Array) -> Array:
    """The entries that episodic methods see."""
    return obs[..., list(spec.context)] if spec.context else obs


# ---- one environment ---------------------------------------------------------------------------------------


class TaskEnv(gymnasium.Env[Array, Array]):
    """A task as a Gymnasium environment.

    control "action": step takes the task's raw action. "path": step takes a desired position and velocity, [2 D], which
    the task's own controller tracks. By default "action" where the task offers it. ``info`` has the metrics and
    "event", after reset also the "position" and "velocity" where desired paths start. reset's
    options={"stream": (seed, purpose, a, b)} starts the episode of exactly that random stream.
    """

    def __init__(
        self, task: Task, settings: Optional[str] = None, *, control: Optional[str] = None,
        render_mode: Optional[str] = None, width: int = 640, height: int = 480,
    ) -> None:
        self.task = task
        self._instance = Instance(task, settings)
        self.task_spec = self._instance.spec
        self._count = 0  # steps since the reset
        # where resets depend on the episodes before, a seed starts that history anew
        self._first = self._instance.get_state() if self.task_spec.carries_state else None
        offered = takes_actions(task, self.task_spec)
        self.control = control or ("action" if offered else "path")
        if self.control not in ("action", "path"):
            raise ValueError(f"control: {control!r}, expected 'action' or 'path'")
        if self.control == "action" and not offered:
            raise ValueError(f"control: {task.name} takes no raw action")

        modes: List[str] = ["rgb_array"] if self._instance.offers("render") else []
        self.metadata = {"render_modes": modes, "render_fps": max(1, round(1.0 / self.task_spec.dt))}
        if render_mode is not None and render_mode not in modes:
            raise ValueError(f"render_mode: {render_mode!r}, {task.name} offers {modes}")
        self.render_mode = render_mode
        self._size = width, height

        self.observation_space = unbounded(self.task_spec.n_obs)
        self.action_space = unbounded(2 * self.task_spec.n_dof) if self.control == "path" else action_box(self.task_spec)

    def reset(
        self, *, seed: Optional[int] = None, options: Optional[Dict[str, Any]] = None
    ) -> Tuple[Array, Dict[str, Any]]:
        super().reset(seed=seed)
        if seed is not None and self._first is not None:
            self._instance.set_state(self._first)
        stream = (options or {}).get("stream")
        if stream is None:
            stream = (int(self.np_random.integers(2**63)),)
        obs, pos, vel = self._instance.reset(Random(*stream))
        self._count = 0
        return obs, {"position": pos, "velocity": vel}

    def step(self, action: Any) -> Tuple[Array, float, bool, bool, Dict[str, Any]]:
        result: StepResult
        if self.control == "path":
            target = np.asarray(action, np.float64).reshape(2, self.task_spec.n_dof)
            result = self._instance.step(target[0], target[1])
        else:
            result = self._instance.step_action(action)
        # the last step of the spec is an end whatever the task says, as in a roll-out
        self._count += 1
        truncated = result.truncated or (self._count >= self.task_spec.n_steps and not result.terminated)
        info: Dict[str, Any] = dict(self._instance.metrics(), event=result.event)
        return result.obs, result.reward, result.terminated, truncated, info

    def render(self) -> Any:
        if self.render_mode != "rgb_array":
            return None
        return self._instance.render(*self._size)

    def close(self) -> None:
        self._instance.close()


class EpisodeEnv(TaskEnv):
    """A task whose step is a whole episode: the action is the parameters of a ProDMP, the reward the return, and every step terminates.

    The path starts where the episode does; the task's own controller tracks it. The observation is what episodic methods see of the task's, at the
    start and at the end. ``mp`` has keywords of :class:`tce.ProDMP` that are to differ from the published ones. ``info`` after step: the metrics,
    "event", "trajectory_length" n, and for each of the n steps "positions", "velocities" (desired, [n, D]), "step_observations" [n, O] and
    "step_rewards" [n].
    """

    def __init__(self, task: Task, settings: Optional[str] = None, *, mp: Optional[Dict[str, Any]] = None, **keywords: Any) -> None:
        super().__init__(task, settings, control="path", **keywords)
        self.mp, self._times = primitive(task, self.task_spec, mp)
        self.action_space = unbounded(self.mp.num_params)
        self.observation_space = unbounded(len(self.task_spec.context) or self.task_spec.n_obs)
        self._start: Optional[Tuple[Array, Array]] = None

    def reset(
        self, *, seed: Optional[int] = None, options: Optional[Dict[str, Any]] = None
    ) -> Tuple[Array, Dict[str, Any]]:
        obs, info = super().reset(seed=seed, options=options)
        self._start = info["position"], info["velocity"]
        return context_of(self.task_spec, obs), info

    def step(self, action: Any) -> Tuple[Array, float, bool, bool, Dict[str, Any]]:
        if self._start is None:
            raise gymnasium.error.ResetNeeded("an episode is over after one step: call reset before the next")
        params = np.asarray(action, np.float64).reshape(1, -1)
        pos, vel = (path[0] for path in self.mp.trajectory(params, self._times, 0.0, self._start[0][None], self._start[1][None]))
        self._start = None
        steps: List[StepResult] = []
        for p, v in zip(pos, vel):
            steps.append(self._instance.step(p, v))
            if steps[-1].terminated or steps[-1].truncated:
                break
        n, last = len(steps), steps[-1]
        rewards = np.array([step.reward for step in steps])
        info: Dict[str, Any] = dict(
            self._instance.metrics(), event=last.event, trajectory_length=n, positions=pos[:n], velocities=vel[:n],
            step_observations=np.array([step.obs for step in steps]), step_rewards=rewards)
        return context_of(self.task_spec, last.obs), float(rewards.sum()), True, False, info


# ---- many at once ------------------------------------------------------------------------------------------


class _Vector(gymnasium.vector.VectorEnv[Array, Array, Array]):
    """What both kinds of vectors share: a roll-out on a thread pool, and which episodes it draws.

    reset(seed=) starts a sequence of episodes that depends on the seed alone, not on the threads; environment i draws from streams of its own.
    """

    def __init__(self, task: Task, num_envs: int, settings: Optional[str], threads: int) -> None:
        self.task, self.num_envs = task, num_envs
        self._pool = Pool(threads)
        self._rollout = Rollout(task, num_envs, settings=settings, pool=self._pool)
        self.task_spec = self._rollout.spec
        self._first = self._rollout.get_states() if self.task_spec.carries_state else None
        self.metadata = {"render_modes": [], "render_fps": max(1, round(1.0 / self.task_spec.dt))}
        self.render_mode = None
        self._episode = 0

    def _spaces(self, observation: Box, action: Box) -> None:
        self.single_observation_space, self.single_action_space = observation, action
        self.observation_space = gymnasium.vector.utils.batch_space(observation, self.num_envs)
        self.action_space = gymnasium.vector.utils.batch_space(action, self.num_envs)

    def _begin(self, seed: Union[int, List[Optional[int]], None]) -> Tuple[Array, Array, Array]:
        """New episodes everywhere; a seed starts the count anew."""
        if isinstance(seed, (list, tuple)):
            if any(one is None for one in seed):
                raise ValueError("seed: a number, or one for each environment without None")
            self._np_random = np.random.default_rng([int(one) for one in seed if one is not None])
        else:
            super().reset(seed=seed)
        if seed is not None and self._first is not None:
            self._rollout.set_states(self._first)
        if seed is not None or self._episode == 0:
            # episodes count up from here
            self._episode = int(self.np_random.integers(1, 2**62))
        else:
            self._episode += 1
        return self._rollout.reset(self._episode)

    def _metrics(self, metrics: Array) -> Dict[str, Any]:
        """As Gymnasium has infos of vectors: an array a name, and which entries of it are set."""
        infos: Dict[str, Any] = dict(zip(self.task_spec.metric_names, np.ascontiguousarray(metrics.T)))
        infos.update({f"_{name}": np.ones(self.num_envs, bool) for name in list(infos)})
        return infos

    def close_extras(self, **keywords: Any) -> None:
        self._rollout.close()
        self._pool.close()


class TaskVectorEnv(_Vector):
    """Environments of one task stepped by raw actions, all in one call of libtce on a thread pool.

    An environment that has ended is reset by the next step, which ignores its action and brings reward 0 (Gymnasium's AutoresetMode.NEXT_STEP).
    ``threads`` 0: one a processor.
    """

    def __init__(self, task: Task, num_envs: int = 1, settings: Optional[str] = None, *, threads: int = 0) -> None:
        super().__init__(task, num_envs, settings, threads)
        if not takes_actions(task, self.task_spec):
            raise ValueError(f"{task.name} takes no raw action")
        self.metadata["autoreset_mode"] = AutoresetMode.NEXT_STEP
        self._spaces(unbounded(self.task_spec.n_obs), action_box(self.task_spec))
        self._ended = np.zeros(num_envs, bool)

    def reset(
        self, *, seed: Union[int, List[Optional[int]], None] = None, options: Optional[Dict[str, Any]] = None
    ) -> Tuple[Array, Dict[str, Any]]:
        obs, _, _ = self._begin(seed)
        self._ended[:] = False
        return obs, {}

    def step(self, actions: Any) -> Tuple[Array, Array, AnyArray, AnyArray, Dict[str, Any]]:
        obs, results = self._rollout.step(actions)
        infos = self._metrics(self._rollout.metrics())
        if self._ended.any():
            self._episode += 1
            for i in np.flatnonzero(self._ended):
                obs[i] = self._rollout.reset_one(int(i), self._episode)[0]
            results[self._ended] = 0
            for name in self.task_spec.metric_names:
                infos[name][self._ended] = 0.0
                infos[f"_{name}"] = ~self._ended
        terminated, truncated = results["terminated"] != 0, results["truncated"] != 0
        self._ended = terminated | truncated
        return obs, results["reward"].copy(), terminated, truncated, infos


class EpisodeVectorEnv(_Vector):
    """Environments of one task whose step is a whole episode each, as in :class:`EpisodeEnv`, all on a thread pool.

    Every step ends all episodes and starts the next ones: the observation is theirs, the one at the end is in infos["final_obs"]
    (Gymnasium's AutoresetMode.SAME_STEP), the rest in infos["final_info"].
    """

    def __init__(
        self, task: Task, num_envs: int = 1, settings: Optional[str] = None, *, mp: Optional[Dict[str, Any]] = None, threads: int = 0
    ) -> None:
        super().__init__(task, num_envs, settings, threads)
        self.metadata["autoreset_mode"] = AutoresetMode.SAME_STEP
        self.mp, self._times = primitive(task, self.task_spec, mp)
        self._spaces(unbounded(len(self.task_spec.context) or self.task_spec.n_obs), unbounded(self.mp.num_params))
        self._start: Optional[Tuple[Array, Array]] = None

    def reset(
        self, *, seed: Union[int, List[Optional[int]], None] = None, options: Optional[Dict[str, Any]] = None
    ) -> Tuple[Array, Dict[str, Any]]:
        obs, pos, vel = self._begin(seed)
        self._start = pos, vel
        return context_of(self.task_spec, obs), {}

    def step(self, actions: Any) -> Tuple[Array, Array, AnyArray, AnyArray, Dict[str, Any]]:
        if self._start is None:
            raise gymnasium.error.ResetNeeded("call reset before the first step")
        pos, vel = self.mp.trajectory(actions, self._times, 0.0, *self._start)
        paths = self._rollout.run(pos, vel)
        final = self._metrics(paths.metrics)
        arrays = {
            "trajectory_length": paths.lengths, "positions": pos, "velocities": vel, "step_observations": paths.obs[:, 1:],
            "step_rewards": paths.rewards}
        for name, array in arrays.items():
            final[name], final[f"_{name}"] = array, np.ones(self.num_envs, bool)
        ends = context_of(self.task_spec, paths.obs[np.arange(self.num_envs), paths.lengths])
        every = np.ones(self.num_envs, bool)
        infos = {"final_obs": ends, "_final_obs": every, "final_info": final, "_final_info": every.copy()}
        obs, _ = self.reset()
        return obs, paths.rewards.sum(axis=1), every.copy(), np.zeros(self.num_envs, bool), infos


# ---- making and registering ---------------------------------------------------------------------------------


def gym_env(library: Library, name: str, settings: Optional[str] = None, **keywords: Any) -> TaskEnv:
    """A task of a library (a path, one that is open, or None for the project's own); keywords as :class:`TaskEnv`."""
    return TaskEnv(open_library(library)[name], settings, **keywords)


def episode_env(library: Library, name: str, settings: Optional[str] = None, **keywords: Any) -> EpisodeEnv:
    """The same with whole episodes as steps; keywords as :class:`EpisodeEnv`."""
    return EpisodeEnv(open_library(library)[name], settings, **keywords)


def gym_vector(library: Library, name: str, num_envs: int = 1, settings: Optional[str] = None, **keywords: Any) -> TaskVectorEnv:
    """Many environments of a task; keywords as :class:`TaskVectorEnv`."""
    return TaskVectorEnv(open_library(library)[name], num_envs, settings, **keywords)


def episode_vector(library: Library, name: str, num_envs: int = 1, settings: Optional[str] = None, **keywords: Any) -> EpisodeVectorEnv:
    """Many environments with whole episodes as steps; keywords as :class:`EpisodeVectorEnv`."""
    return EpisodeVectorEnv(open_library(library)[name], num_envs, settings, **keywords)


def register_task(library: Optional[str], task: str, namespace: str, actions: bool = True) -> List[str]:
    """Registers the ids of one task: stepped by its raw action where it takes one, and by whole episodes."""
    ids = []
    for name, settings in registrations(task):
        keywords = {"library": library, "name": task, "settings": settings}
        kinds = [(f"{namespace}/{name}", "gym_env", "gym_vector")] if actions else []
        kinds.append((f"{namespace}_ProDMP/{name}", "episode_env", "episode_vector"))
        for identifier, one, many in kinds:
            gymnasium.register(
                identifier, entry_point=f"tce.gym:{one}", vector_entry_point=f"tce.gym:{many}", kwargs=dict(keywords))
            ids.append(identifier)
    return ids


def register(library: Union[str, "os.PathLike[str]", None] = None, namespace: str = "tce") -> List[str]:
    """Registers every task of a library (None: the project's own) with gymnasium: <namespace>/<Task>-v0 and <namespace>_ProDMP/<Task>-v0.

    The ids are returned. A task without raw action has the second only.
    """
    tasks = TaskLibrary(library)
    path = None if library is None else os.path.abspath(os.fspath(library))
    ids = []
    for name, task in tasks.items():
        ids += register_task(path, name, namespace, bool(task._table.step_action))
    return ids


def _register_own() -> None:
    """What importing does: all tasks of the project's library when it is there, else the ids that say how to get it."""
    try:
        register()
    except LookupError:
        for task in OWN_TASKS:
            register_task(None, task, "tce")
    except TceError as reason:
        warnings.warn(f"the tasks of libtce are not registered: {reason}", RuntimeWarning, stacklevel=2)


_register_own()
