"""Tasks of C libraries as Gymnasium environments. Needs the package gymnasium.

Importing this module registers the project's own tasks: ``tce/<Task>-v0`` takes the raw action of every step, ``tce_ProDMP/<Task>-v0`` the parameters
of a movement primitive for a whole episode. ``gymnasium.make("tce.gym:tce/HopperJump-v0")`` imports it by itself.
"""

from __future__ import annotations

import os
from typing import Any, Dict, List, NamedTuple, NoReturn, Optional, Sequence, Tuple, Union

import gymnasium
import numpy as np
from gymnasium.utils import seeding
from gymnasium.vector import AutoresetMode

from ._arrays import AnyArray, Array, Shapes, integer, number
from ._control import PD as PD
from ._control import Controller as Controller
from ._own_tasks import OWN_TASKS
from ._primitives import PRODMP
from .base import Pool, Random
from .env import EnvSpec, Instance, StepResult, Task, TaskLibrary
from .errors import E_STATE, LibraryError, NotFoundError, StateError
from .mp import MovementPrimitive, ProDMP
from .python_env import GymAdapter
from .rollout import Rollout

Library = Union[str, "os.PathLike[str]", TaskLibrary, None]
Seeds = Union[int, Sequence[Optional[int]], None]
Box = gymnasium.spaces.Box

METAWORLD = "metaworld_"
# Bound of a primitive's parameters, in standard deviations of an untrained policy, which has mean 0 and standard deviation 1. Of what
# the trained policies of docs/runs draw, 0.04 percent at most lies beyond it.
PARAMETER_BOUND = 10.0


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


def primitive(task: Task, spec: EnvSpec, mp: Union[Dict[str, Any], MovementPrimitive, None]) -> Tuple[MovementPrimitive, Array]:
    """The task's ProDMP, with keywords of ``mp`` before those of its settings, or the primitive itself; and the times of an episode's steps.

    The project's own tasks have the primitive that ``tce train TASK/tce`` trains. Any other has 5 basis functions and is as long as the episode.
    """
    times: Array = spec.dt * np.arange(1, spec.n_steps + 1, dtype=np.float64)
    if isinstance(mp, MovementPrimitive):
        if mp.n_dof != spec.n_dof:
            raise ValueError(f"mp: the primitive has {mp.n_dof} degrees of freedom, {task.name} has {spec.n_dof}")
        return mp, times
    other = {"n_basis": 5, "tau": spec.n_steps * spec.dt}
    own = PRODMP.get("metaworld" if task.name.startswith(METAWORLD) else task.name, other)
    return ProDMP(n_dof=spec.n_dof, **{"dt": spec.dt, **own, **(mp or {})}), times


def parameter_box(mp: MovementPrimitive, spec: EnvSpec, bound: float) -> Box:
    """The space of a primitive's parameters: weights and goals within the bound, times within the episode."""
    if not 0.0 < (bound := number("bound", bound)) < np.inf:
        raise ValueError(f"bound: {bound:g}, expected a finite number above 0")
    low, high = np.full(mp.n_params, -bound), np.full(mp.n_params, bound)
    duration = spec.n_steps * spec.dt
    # a learnt tau, whose table has to reach the end of the episode, then a learnt delay
    times = [duration / mp.options.table_length] if mp.options.learn_tau else []
    times += [0.0] if mp.options.learn_delay else []
    low[: len(times)], high[: len(times)] = times, duration
    return Box(low, high, (mp.n_params,), np.float64)


def render_modes(task: Task, render_mode: Optional[str]) -> List[str]:
    """What the task offers; ValueError for a mode that it does not."""
    modes = ["rgb_array"] if task._table.render else []
    if render_mode is not None and render_mode not in modes:
        raise ValueError(f"render_mode: {render_mode!r}, {task.name} offers {modes}")
    return modes


class ResetNeeded(StateError, gymnasium.error.ResetNeeded):
    """A step without an episode, as libtce and as Gymnasium report it."""

    def __init__(self, message: str) -> None:
        super().__init__(E_STATE, "TCE_E_STATE", message)


class _Limited:
    """An environment whose spec tells how many steps an episode has.

    Gymnasium sets the spec after it has made the environment. The limit is not in its registry, where it would add a
    TimeLimit: the task keeps its time by itself, and only it knows whether its last step is also its end.
    """

    _spec: Optional[gymnasium.envs.registration.EnvSpec] = None
    _max_episode_steps = 1

    def __copy__(self) -> NoReturn:
        raise TypeError(f"{type(self).__name__} cannot be copied: both would step one environment of the C library. Make another one.")

    @property
    def spec(self) -> Optional[gymnasium.envs.registration.EnvSpec]:
        return self._spec

    @spec.setter
    def spec(self, value: Optional[gymnasium.envs.registration.EnvSpec]) -> None:
        if value is not None and value.max_episode_steps is None:
            value.max_episode_steps = self._max_episode_steps
        self._spec = value


# ---- one environment ---------------------------------------------------------------------------------------


class TaskEnv(_Limited, gymnasium.Env[Array, Array]):
    """A task as a Gymnasium environment.

    control "action": step takes the task's raw action. "path": step takes a desired position and velocity, [2 D], which
    the task's own controller tracks. By default "action" where the task offers it. ``info`` has the metrics and
    "event", after reset also the "position" and "velocity" where desired paths start. reset's
    options={"stream": (seed, purpose, a, b)} starts the episode of exactly that random stream. A step before the first
    reset or after the end of the episode is a ResetNeeded.
    """

    def __init__(
        self, task: Task, settings: Optional[str] = None, *, control: Optional[str] = None,
        render_mode: Optional[str] = None, width: int = 640, height: int = 480,
    ) -> None:
        self.task = task
        self._instance = Instance(task, settings)
        self.task_spec = self._instance.spec
        self._max_episode_steps = self.task_spec.n_steps
        # where resets depend on the episodes before, a seed restarts that history
        self._first = self._instance.get_state() if self.task_spec.carries_state else None
        offered = takes_actions(task, self.task_spec)
        self.control = control or ("action" if offered else "path")
        if self.control not in ("action", "path"):
            raise ValueError(f"control: {control!r}, expected 'action' or 'path'")
        if self.control == "action" and not offered:
            raise ValueError(f"control: {task.name} takes no raw action")

        modes = render_modes(task, render_mode)
        self.metadata = {"render_modes": modes, "render_fps": max(1, round(1.0 / self.task_spec.dt))}
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
        return obs, {"position": pos, "velocity": vel}

    def step(self, action: Any) -> Tuple[Array, float, bool, bool, Dict[str, Any]]:
        result: StepResult
        if not self._instance.running:
            raise ResetNeeded(f"{self.task.name}: the episode is over or was never begun: reset the environment before it is stepped")
        if self.control == "path":
            target = np.asarray(action, np.float64).reshape(2, self.task_spec.n_dof)
            result = self._instance.step(target[0], target[1])
        else:
            result = self._instance.step_action(action)
        info: Dict[str, Any] = dict(self._instance.metrics(), event=result.event)
        return result.obs, result.reward, result.terminated, result.truncated, info

    def __repr__(self) -> str:
        return f"{type(self).__name__}(task={self.task!r}, control={self.control!r})"

    def render(self) -> Any:
        if self.render_mode != "rgb_array":
            return None
        return self._instance.render(*self._size)

    def close(self) -> None:
        self._instance.close()


def _path(mp: MovementPrimitive, times: AnyArray, action: Any, start: Optional[Tuple[Array, Array]]) -> Tuple[Array, Array]:
    """The positions and velocities [n, D] that the parameters desire at these times; start: where the joints are, None before a reset."""
    if start is None:
        raise ResetNeeded("an episode is over after one step: reset the environment before the next")
    params = np.asarray(action, np.float64).reshape(1, -1)
    pos, vel = mp.trajectory(params, times, 0.0, start[0][None], start[1][None])
    return pos[0], vel[0]


class EpisodeEnv(TaskEnv):
    """A task whose step is a whole episode: the action is the parameters of a ProDMP, the reward the return, and every step terminates.

    The path starts where the episode does; the task's own controller tracks it. The observation is what episodic methods see of the task's, at the
    start and at the end; with ``full=True`` it is all of the task's. ``mp`` is a primitive, or keywords of :class:`tce.ProDMP` that should
    differ from those of the task's settings. ``info`` after step: the metrics,
    "event", "trajectory_length" n, and for each of the n steps "positions", "velocities" (desired, [n, D]), "step_observations" [n, O] and
    "step_rewards" [n].

    The action space is the Box of all parameters within ``bound``, which counts standard deviations of an untrained policy; a
    learnt tau or delay has a range of times instead. It says where to look: parameters beyond it are not clipped.
    """

    def __init__(
        self, task: Task, settings: Optional[str] = None, *, mp: Union[Dict[str, Any], MovementPrimitive, None] = None,
        bound: float = PARAMETER_BOUND, full: bool = False, **keywords: Any,
    ) -> None:
        super().__init__(task, settings, control="path", **keywords)
        self._context = [] if full else list(self.task_spec.context)
        self._max_episode_steps = 1
        self.mp, self._times = primitive(task, self.task_spec, mp)
        self.action_space = parameter_box(self.mp, self.task_spec, bound)
        self.observation_space = unbounded(len(self._context) or self.task_spec.n_obs)
        self._start: Optional[Tuple[Array, Array]] = None

    def reset(
        self, *, seed: Optional[int] = None, options: Optional[Dict[str, Any]] = None
    ) -> Tuple[Array, Dict[str, Any]]:
        obs, info = super().reset(seed=seed, options=options)
        self._start = info["position"], info["velocity"]
        return self._seen(obs), info

    def _seen(self, obs: Array) -> Array:
        return obs[self._context] if self._context else obs

    def step(self, action: Any) -> Tuple[Array, float, bool, bool, Dict[str, Any]]:
        pos, vel = _path(self.mp, self._times, action, self._start)
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
        return self._seen(last.obs), float(rewards.sum()), True, False, info


class ProDMPWrapper(_Limited, gymnasium.Wrapper[Array, Array, Any, Any]):
    """Any Gymnasium environment with a step that is a whole episode: the action is the parameters of a ProDMP, the reward the return.

    env         an environment with Box spaces
    controller  how it follows a path (:class:`Controller`); None: found from the actuators of a MuJoCo environment
    n_steps, dt  steps per episode and seconds per step; by default what the environment states
    context     entries of the observation that are seen, at the start and at the end; by default all
    bound       of the parameters, in standard deviations of an untrained policy, which has mean 0 and standard deviation 1
    mp          keywords of :class:`tce.ProDMP`; by default 5 basis functions, as long as the episode

    ``info`` after step is that of the last step, with "trajectory_length" n, and for each of the n steps "positions", "velocities" (desired, [n, D]),
    "step_observations" [n, O], "step_actions" [n, A] and "step_rewards" [n]. Every step terminates: reset comes next.
    """

    def __init__(
        self, env: gymnasium.Env[Any, Any], controller: Optional[Controller] = None, *, n_steps: Optional[int] = None,
        dt: Optional[float] = None, context: Sequence[int] = (), bound: float = PARAMETER_BOUND, **mp: Any,
    ) -> None:
        super().__init__(env)
        self.controller = Controller.find(env) if controller is None else controller
        self._adapter = GymAdapter(env, n_steps, dt, None, None, None, self.controller, 1.0, 0.0, {}, context)
        spec = self.task_spec = self._adapter.spec
        self._max_episode_steps = 1
        self._context = list(context)
        self.mp = ProDMP(n_dof=spec.n_dof, **{"n_basis": 5, "tau": spec.n_steps * spec.dt, "dt": spec.dt, **mp})
        self._times = spec.dt * np.arange(1, spec.n_steps + 1)
        self.action_space = parameter_box(self.mp, spec, bound)
        self.observation_space = unbounded(len(self._context) or spec.n_obs)
        self._start: Optional[Tuple[Array, Array]] = None

    def _seen(self, obs: Any) -> Array:
        flat = np.asarray(obs, np.float64).reshape(-1)
        return flat[self._context] if self._context else flat.copy()

    def reset(self, *, seed: Optional[int] = None, options: Optional[Dict[str, Any]] = None) -> Tuple[Array, Dict[str, Any]]:
        obs, info = self._adapter.begin(seed=seed, options=options)
        self._start = self.controller.read(self.env, self._adapter.obs)
        return self._seen(obs), {**info, "position": self._start[0], "velocity": self._start[1]}

    def step(self, action: Any) -> Tuple[Array, float, bool, bool, Dict[str, Any]]:
        pos, vel = _path(self.mp, self._times, action, self._start)
        self._start = None
        rewards, observations, actions = [], [], []
        for p, v in zip(pos, vel):
            result = self._adapter.step(p, v)
            rewards.append(result.reward)
            observations.append(result.obs)
            actions.append(self._adapter.last_action)
            if result.terminated or result.truncated:
                break
        n = len(rewards)
        info = dict(
            self._adapter.info, trajectory_length=n, positions=pos[:n], velocities=vel[:n], step_observations=np.array(observations),
            step_actions=np.array(actions), step_rewards=np.array(rewards))
        return self._seen(observations[-1]), float(np.sum(rewards)), True, False, info


# ---- many at once ------------------------------------------------------------------------------------------


def _seeds(seed: Seeds, n: int) -> List[Optional[int]]:
    """One seed for each environment: seed + i of a number, those of a list, None where a generator is to continue."""
    if seed is None:
        return [None] * n
    if isinstance(seed, (int, np.integer)):
        return [int(seed) + i for i in range(n)]
    if not hasattr(seed, "__len__"):
        raise ValueError(f"seed: {seed!r}, expected a number or one seed for each of {n} environments")
    if len(seed) != n:
        raise ValueError(f"seed: {len(seed)} seeds, expected a number or one seed for each of {n} environments")
    return [None if one is None else integer("seed", one) for one in seed]


def _chosen(options: Optional[Dict[str, Any]], n: int) -> AnyArray:
    """Which environments a reset is for: those of the mask in its options, else all."""
    mask = (options or {}).get("reset_mask")
    if mask is None:
        return np.arange(n)
    if not isinstance(mask, np.ndarray) or mask.dtype != np.bool_ or mask.shape != (n,) or not mask.any():
        raise ValueError(f"options['reset_mask']: {mask!r}, expected a numpy array of {n} bool that are not all False")
    return np.flatnonzero(mask)


def _put(infos: Dict[str, Any], mask: AnyArray, arrays: Dict[str, Any]) -> None:
    """Adds arrays [n, …] as Gymnasium has infos of vectors: zero where the mask is not set, with the mask beside them."""
    if mask.any():
        for name, array in arrays.items():
            infos[name] = np.zeros_like(array)
            infos[name][mask] = array[mask]
            infos[f"_{name}"] = mask.copy()


class _Vector(_Limited, gymnasium.vector.VectorEnv[Array, Array, Array]):
    """What both kinds of vectors share: a rollout on a thread pool, a generator for each environment, and when which is reset.

    Environment i draws its episodes from a generator of its own, as a single environment does: reset(seed=s) seeds it
    with s + i, a list with its own entry, and None, alone or in a list, lets it continue. An environment that is seeded with s starts
    like a single one with seed s, and the bytes depend neither on the other environments nor on the threads.
    reset(options={"reset_mask": …}), [n] of bool, resets those that are True.
    """

    def __init__(
        self, task: Task, num_envs: int, settings: Optional[str], threads: int,
        autoreset_mode: Union[str, AutoresetMode], render_mode: Optional[str], width: int, height: int,
    ) -> None:
        modes = render_modes(task, render_mode)
        self.task, self.num_envs = task, num_envs
        self.autoreset_mode = AutoresetMode(autoreset_mode)
        self._pool = Pool(threads)
        self._rollout = Rollout(task, num_envs, settings=settings, pool=self._pool)
        self.task_spec = self._rollout.spec
        self._max_episode_steps = self.task_spec.n_steps
        self._first = self._rollout.get_states() if self.task_spec.carries_state else None
        self.metadata = {
            "render_modes": modes, "render_fps": max(1, round(1.0 / self.task_spec.dt)), "autoreset_mode": self.autoreset_mode}
        self.render_mode = render_mode
        self._size = width, height
        self._generators = [seeding.np_random() for _ in range(num_envs)]
        self._running = np.zeros(num_envs, bool)  # there is an episode that can be stepped
        self._waiting: AnyArray = np.zeros(num_envs, bool)  # the next step resets it
        self._obs: Array = np.zeros((num_envs, self.task_spec.n_obs))
        self._start = np.zeros((2, num_envs, self.task_spec.n_dof))  # where desired paths start: position, velocity

    def _check_limit(self, max_episode_steps: Optional[int]) -> None:
        """Gymnasium hands on the limit of a spec, which is that of the task."""
        if max_episode_steps not in (None, -1, self._max_episode_steps):
            raise ValueError(
                f"max_episode_steps: {max_episode_steps}, an episode of {self.task.name} has {self._max_episode_steps} steps; "
                'vectorization_mode="sync" can end it earlier')

    def _spaces(self, observation: Box, action: Box) -> None:
        self.single_observation_space, self.single_action_space = observation, action
        self.observation_space = gymnasium.vector.utils.batch_space(observation, self.num_envs)
        self.action_space = gymnasium.vector.utils.batch_space(action, self.num_envs)

    @property  # type: ignore[misc]
    def np_random(self) -> Tuple[np.random.Generator, ...]:  # type: ignore[override]
        """The generators of the environments."""
        return tuple(generator for generator, _ in self._generators)

    @property
    def np_random_seed(self) -> Tuple[int, ...]:  # type: ignore[override]
        """What they were seeded with last."""
        return tuple(seed for _, seed in self._generators)

    def _begin(self, which: AnyArray, infos: Dict[str, Any], stream: Optional[Tuple[int, ...]] = None) -> None:
        """New episodes of some environments, from their generators or from the stream of a key."""
        keys = [stream or (int(self._generators[i][0].integers(2**63)),) for i in which]
        obs, pos, vel = self._rollout.reset_where([Random(*key) for key in keys], which)
        self._obs[which], self._start[:, which] = obs, (pos, vel)
        self._running[which], self._waiting[which] = True, False
        begun = np.zeros(self.num_envs, bool)
        begun[which] = True
        _put(infos, begun, {"position": self._start[0], "velocity": self._start[1]})

    def reset(
        self, *, seed: Seeds = None, options: Optional[Dict[str, Any]] = None
    ) -> Tuple[Array, Dict[str, Any]]:
        which, seeds = _chosen(options, self.num_envs), _seeds(seed, self.num_envs)
        self._check_mask(which)
        for i in which:
            if seeds[i] is not None:
                self._generators[i] = seeding.np_random(seeds[i])
                if self._first is not None:
                    self._rollout.set_state(int(i), self._first[i])
        infos: Dict[str, Any] = {}
        self._begin(which, infos, (options or {}).get("stream"))
        return self._observation(self._obs), infos

    def _check_mask(self, which: AnyArray) -> None:
        """ValueError for environments that cannot be reset without the others."""

    def _observation(self, obs: Array) -> Array:
        """A copy of what agents see of observations [n, O]."""
        return obs.copy()

    def _check_running(self) -> None:
        """ResetNeeded unless every environment has an episode or gets one by the next step."""
        stopped = np.flatnonzero(~(self._running | self._waiting))
        if stopped.size:
            raise ResetNeeded(
                f"{self.task.name}: the episodes of environments {stopped.tolist()} are over or were never begun: reset them before they are stepped")

    def _finish(self, stepped: AnyArray, over: AnyArray, last: Dict[str, Any]) -> Dict[str, Any]:
        """The infos of a step, by which some environments are over, and what becomes of those; last: what there is to say."""
        infos: Dict[str, Any] = {}
        self._running[over] = False
        if self.autoreset_mode == AutoresetMode.NEXT_STEP:
            self._waiting = over.copy()
        if self.autoreset_mode != AutoresetMode.SAME_STEP:
            _put(infos, stepped, last)
            return infos
        _put(infos, stepped & ~over, last)
        if over.any():
            ends: AnyArray = np.full(self.num_envs, None, object)
            seen = self._observation(self._obs)
            for i in np.flatnonzero(over):
                ends[i] = seen[i]
            infos.update(final_obs=ends, _final_obs=over.copy(), final_info={}, _final_info=over.copy())
            _put(infos["final_info"], over, last)
            self._begin(np.flatnonzero(over), infos)
        return infos

    def _named(self, metrics: Array) -> Dict[str, Any]:
        return dict(zip(self.task_spec.metric_names, np.ascontiguousarray(metrics.T)))

    def render(self) -> Optional[Tuple[AnyArray, ...]]:  # type: ignore[override]
        """A picture of every environment."""
        if self.render_mode != "rgb_array":
            return None
        return tuple(self._rollout.render(i, *self._size) for i in range(self.num_envs))

    def close_extras(self, **keywords: Any) -> None:
        # of one that could not be made there may be neither
        for handle in (getattr(self, name, None) for name in ("_rollout", "_pool")):
            if handle is not None:
                handle.close()


class TaskVectorEnv(_Vector):
    """Environments of one task stepped by raw actions, all in one call of libtce on a thread pool.

    ``autoreset_mode``: with NEXT_STEP an environment that has ended is reset by the next step, which ignores its action and
    brings reward 0; with SAME_STEP at once, and what it ended with is in infos["final_obs"] and ["final_info"]; with
    DISABLED by the caller, with a reset_mask. ``threads`` 0: one per processor.
    """

    def __init__(
        self, task: Task, num_envs: int = 1, settings: Optional[str] = None, *, threads: int = 0,
        autoreset_mode: Union[str, AutoresetMode] = AutoresetMode.NEXT_STEP, render_mode: Optional[str] = None,
        width: int = 640, height: int = 480, max_episode_steps: Optional[int] = None,
    ) -> None:
        super().__init__(task, num_envs, settings, threads, autoreset_mode, render_mode, width, height)
        self._check_limit(max_episode_steps)
        if not takes_actions(task, self.task_spec):
            raise ValueError(f"{task.name} takes no raw action")
        self._spaces(unbounded(self.task_spec.n_obs), action_box(self.task_spec))

    def step(self, actions: Any) -> Tuple[Array, Array, AnyArray, AnyArray, Dict[str, Any]]:
        self._check_running()
        begin = self._waiting
        actions = Shapes(N=self.num_envs, A=self.task_spec.n_action).array("actions", actions, "N A")
        if begin.any():
            actions = np.where(begin[:, None], 0.0, actions)
        self._obs, results = self._rollout.step(actions)
        results[begin] = 0
        last = {**self._named(self._rollout.metrics()), "event": results["event"] != 0}
        terminated, truncated = results["terminated"] != 0, results["truncated"] != 0
        infos = self._finish(~begin, terminated | truncated, last)
        if begin.any():
            self._begin(np.flatnonzero(begin), infos)
        return self._obs.copy(), results["reward"].copy(), terminated, truncated, infos


class EpisodeVectorEnv(_Vector):
    """Environments of one task whose step is a whole episode each, as in :class:`EpisodeEnv`, all on a thread pool.

    Every step ends all episodes. With ``autoreset_mode`` SAME_STEP it starts the next ones too: the observation is theirs, the one at the end
    is in infos["final_obs"] and the rest in infos["final_info"]. With NEXT_STEP every second step does only that, and with
    DISABLED the caller does it.
    """

    def __init__(
        self, task: Task, num_envs: int = 1, settings: Optional[str] = None, *, mp: Optional[Dict[str, Any]] = None,
        bound: float = PARAMETER_BOUND, full: bool = False, threads: int = 0,
        autoreset_mode: Union[str, AutoresetMode] = AutoresetMode.SAME_STEP, render_mode: Optional[str] = None,
        width: int = 640, height: int = 480, max_episode_steps: Optional[int] = None,
    ) -> None:
        super().__init__(task, num_envs, settings, threads, autoreset_mode, render_mode, width, height)
        self._max_episode_steps = 1
        self._check_limit(max_episode_steps)
        self.mp, self._times = primitive(task, self.task_spec, mp)
        self._context = [] if full else list(self.task_spec.context)
        self._spaces(
            unbounded(len(self._context) or self.task_spec.n_obs), parameter_box(self.mp, self.task_spec, bound))

    def _observation(self, obs: Array) -> Array:
        return obs[..., self._context] if self._context else obs.copy()

    def _check_mask(self, which: AnyArray) -> None:
        if self._waiting.any() and which.size < self.num_envs:
            raise ValueError(
                "options['reset_mask']: all episodes are over and the next step starts new ones; reset all of them, or none")

    def step(self, actions: Any) -> Tuple[Array, Array, AnyArray, AnyArray, Dict[str, Any]]:
        self._check_running()
        rows, every, none = np.arange(self.num_envs), np.ones(self.num_envs, bool), np.zeros(self.num_envs, bool)
        infos: Dict[str, Any] = {}
        if self._waiting.all():
            self._begin(rows, infos)
            return self._observation(self._obs), np.zeros(self.num_envs), none, none.copy(), infos
        pos, vel = self.mp.trajectory(actions, self._times, 0.0, *self._start)
        paths = self._rollout.run(pos, vel)
        last = {
            **self._named(paths.metrics), "event": paths.events[rows, paths.lengths - 1] != 0,
            "trajectory_length": paths.lengths.astype(int), "positions": pos, "velocities": vel,
            "step_observations": paths.obs[:, 1:], "step_rewards": paths.rewards}
        self._obs = paths.obs[rows, paths.lengths]
        infos = self._finish(every, every, last)
        return self._observation(self._obs), paths.rewards.sum(axis=1), every, none, infos


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


def register_task(library: Optional[str], task: str, namespace: str, actions: bool = True, paths: bool = True) -> List[str]:
    """Registers the ids of one task: stepped by its raw action where it takes one, and by whole episodes where it tracks paths."""
    ids = []
    for name, settings in registrations(task):
        keywords = {"library": library, "name": task, "settings": settings}
        kinds = [(f"{namespace}/{name}", "gym_env", "gym_vector")] if actions else []
        if paths:
            kinds.append((f"{namespace}_ProDMP/{name}", "episode_env", "episode_vector"))
        for identifier, one, many in kinds:
            gymnasium.register(
                identifier, entry_point=f"tce.gym:{one}", vector_entry_point=f"tce.gym:{many}", kwargs=dict(keywords))
            if task.startswith(METAWORLD):
                # both profiles are current: the number is part of the name, not a version that makes the smaller one out of date
                spec = gymnasium.registry[identifier]
                spec.name, spec.version = name, None
            ids.append(identifier)
    return ids


def register(library: Union[str, "os.PathLike[str]", None] = None, namespace: str = "tce") -> List[str]:
    """Registers every task of a library (None: the project's own) with gymnasium: <namespace>/<Task>-v0 and <namespace>_ProDMP/<Task>-v0.

    The ids are returned. A task without raw action has the second only, one that tracks no desired paths the first only.
    """
    tasks = TaskLibrary(library)
    path = None if library is None else os.path.abspath(os.fspath(library))
    ids = []
    for name, task in tasks.items():
        ids += register_task(path, name, namespace, bool(task._table.step_action), bool(task._table.step))
    return ids


def _register_own() -> None:
    """What importing does: all tasks of the project's library where it can be loaded, else the ids that say how to get it."""
    try:
        register()
    except (NotFoundError, LibraryError):
        for task, follows_paths in OWN_TASKS.items():
            register_task(None, task, "tce", paths=follows_paths)


_register_own()
