"""Trained policies: their parameters and paths, their evaluation, and their use in a Gymnasium environment."""

from __future__ import annotations

import copy
import ctypes
import math
import os
import tempfile
from ctypes import byref, c_int32, c_void_p
from pathlib import Path
from typing import Any, Dict, List, Mapping, NamedTuple, Optional, Sequence, Tuple, Type, TypeVar, Union

import numpy as np
from numpy.typing import ArrayLike

from ._arrays import AnyArray, Array, Shapes, file_name, integer, number, output, outputs, text
from ._callbacks import Group, call
from ._control import Controller
from ._declarations import MpOptions
from ._handle import Owned, make, struct
from ._library import lib
from ._locks import Turn
from ._sources import Source, TaskLike, recorded, run_path, source_of
from ._train_declarations import TrainParts, TrainPlayerOptions, TrainSizes
from ._tasks import start_workers, task_of
from ._train_library import trainer
from .errors import E_NOT_FOUND, E_STATE, E_UNSUPPORTED, NotFoundError, StateError, UnsupportedError
from .mp import MovementPrimitive
from .policy import Policy

# observations that a policy is asked for at once
BATCH = 256


class DesiredPath(NamedTuple):
    """A desired path: positions and velocities, [T, D] or [n, T, D], at the ends of the task's steps."""

    pos: Array
    vel: Array


class Evaluation:
    """What the mean policy did: ``returns`` [n], ``lengths`` [n] in steps (0: the episode was lost), ``metrics`` by name, [n] each."""

    def __init__(self, returns: Array, lengths: AnyArray, metrics: Dict[str, Array]) -> None:
        self.returns, self.lengths, self.metrics = returns, lengths, metrics

    @property
    def mean(self) -> Dict[str, float]:
        """Means over the episodes that were not lost: "return", "length" and the metrics."""
        kept = self.lengths > 0
        found = {"return": self.returns, **self.metrics, "length": self.lengths.astype(np.float64)}
        return {name: float(values[kept].mean()) for name, values in found.items()}

    def __repr__(self) -> str:
        means = ", ".join(f"{name} {value:.4g}" for name, value in self.mean.items())
        return f"Evaluation({len(self.returns)} episodes: {means})"


AnyAgent = TypeVar("AnyAgent", bound="Agent")


class Agent:
    """A trained policy with its movement primitive. :func:`tce.load` opens one.

    Threads may share it: they take turns. A copy, or what is pickled, is the policy as it is now; a task in Python is named again to a pickled one.

    folder      the run folder; None for a policy of its own
    n_obs       O, numbers in an observation of the task; n_context C: entries of it that the policy sees (``context``, None: all)
    n_dof, n_params, n_steps, dt   D, P, T and seconds per step
    acts        whether it chooses an action per step; else it plans the path of a whole episode
    """

    def __init__(self, path: Union[str, "os.PathLike[str]"], source: Optional[Source] = None) -> None:
        given = Path(run_path(path))
        self._given = source  # of the run that was just trained
        self.folder: Optional[str] = str(given) if given.is_dir() else None
        self._file = str(given / "policy.safetensors") if given.is_dir() else str(given)
        if not os.path.exists(self._file):
            raise NotFoundError(
                E_NOT_FOUND, "TCE_E_NOT_FOUND",
                f"{given} has no policy.safetensors yet: it comes with the first checkpoint" if given.is_dir() else f"no such file: {given}")
        self._open(self._file)

    def _open(self, file: str) -> None:
        """The policy of a file."""
        self._lock = Turn(type(self).__name__)
        handle = c_void_p()
        trainer().tce_train_agent_open(file_name(file), BATCH, byref(handle))
        assert handle.value is not None
        self._handle = Owned(handle.value, trainer().tce_train_agent_free)
        sizes = TrainSizes(struct_size=ctypes.sizeof(TrainSizes))
        trainer().tce_train_agent_sizes(self._handle, byref(sizes))
        self.n_obs, self.n_context, self.n_dof = int(sizes.n_obs), int(sizes.n_context), int(sizes.n_dof)
        self.n_params, self.n_steps, self.dt = int(sizes.n_params), int(sizes.n_steps), float(sizes.dt)
        self.context: Optional[List[int]] = list((c_int32 * self.n_context).from_address(sizes.context)) if sizes.context else None
        self.task_name: str = (sizes.task or b"").decode()
        self.acts = bool(sizes.acts)
        self._mp: Optional[MovementPrimitive] = None
        if sizes.mp:
            options = struct(MpOptions)
            lib.tce_mp_get_options(sizes.mp, byref(options))
            self._mp = MovementPrimitive(make(lib.tce_mp_create, byref(options), None))
        self.times = self.dt * np.arange(1, self.n_steps + 1)

    def _kept(self) -> Dict[str, Any]:
        """What a copy has that is not in the policy's file."""
        return {name: value for name, value in vars(self).items() if name not in ("_handle", "_lock", "_mp", "_given")}

    def _content(self) -> bytes:
        """The policy's file."""
        with tempfile.TemporaryDirectory() as folder:
            self.save(Path(folder) / "policy.safetensors")
            return (Path(folder) / "policy.safetensors").read_bytes()

    def __reduce_ex__(self, protocol: Any) -> Any:
        return _opened, (type(self), self._content(), self._kept())

    def __copy__(self: AnyAgent) -> AnyAgent:
        return _opened(type(self), self._content(), self._kept(), self._given)

    def __deepcopy__(self: AnyAgent, memo: Any) -> AnyAgent:
        return _opened(type(self), self._content(), copy.deepcopy(self._kept(), memo), self._given)

    @property
    def mp(self) -> MovementPrimitive:
        """The primitive whose parameters the policy chooses."""
        if self._mp is None:
            raise UnsupportedError(E_UNSUPPORTED, "TCE_E_UNSUPPORTED", "this policy acts at every step and plans no paths: act(obs) gives its action")
        return self._mp

    def _observations(self, obs: ArrayLike) -> Tuple[Array, bool]:
        """Observations [n, O] of one or of several, and whether there were several; what the policy does not see may be missing."""
        array = np.asarray(obs)
        rows = array.reshape(1, -1) if array.ndim == 1 else array
        rows = Shapes(O=self.n_obs, C=self.n_context).finite("obs", rows, "n O", "n C")
        if rows.shape[1] != self.n_obs:
            whole = np.zeros((len(rows), self.n_obs))
            whole[:, self.context] = rows
            rows = whole
        return np.ascontiguousarray(rows), array.ndim != 1

    def _outputs(self, obs: ArrayLike, time: float, out: Optional[Array] = None) -> Array:
        rows, several = self._observations(obs)
        time = number("time", time)
        if not math.isfinite(time):
            raise ValueError(f"time: {time}, expected a finite number of seconds")
        found = output(out, *((len(rows), self.n_params) if several else (self.n_params,)))
        whole = found.reshape(len(rows), self.n_params)
        with self._lock:
            for first in range(0, len(rows), BATCH):
                part = rows[first: first + BATCH]
                trainer().tce_train_agent_act(self._handle, len(part), part, time, whole[first: first + BATCH])
        return found

    def parameters(self, obs: ArrayLike, *, out: Optional[Array] = None) -> Array:
        """Parameters of the primitive that the mean policy chooses: [P] for the first observation [O] of an episode, [n, P] for [n, O].

        The entries that the policy sees, [C] or [n, C], are accepted as well. ``out``: an array of the result's size to write into.
        """
        self.mp
        return self._outputs(obs, 0.0, out)

    def act(self, obs: ArrayLike, time: float = 0.0, *, out: Optional[Array] = None) -> Array:
        """The action in an environment of :meth:`env`: the parameters of a whole episode; of a policy that acts at every step, the action of
        the step at that time of the episode, in seconds. Shapes, and ``out``, as for :meth:`parameters`.
        """
        return self._outputs(obs, time, out)

    def plan(
        self, obs: ArrayLike, position: Optional[ArrayLike] = None, velocity: Optional[ArrayLike] = None, *,
        out: Optional[Tuple[Array, Array]] = None,
    ) -> DesiredPath:
        """The desired path (pos, vel), [T, D] each or [n, T, D], from where the joints are: ``position``, ``velocity`` [D] or [n, D] (zeros).

        ``out``: two arrays of the result's size to write into.
        """
        params = np.atleast_2d(self.parameters(obs))
        shapes = Shapes(n=len(params), D=self.n_dof)
        init_pos, init_vel = (
            np.zeros((len(params), self.n_dof)) if value is None else shapes.finite(name, np.atleast_2d(value), "n D")
            for name, value in (("position", position), ("velocity", velocity)))
        size = (len(params), self.n_steps, self.n_dof)
        pos, vel = outputs(out, *[size if np.ndim(obs) != 1 else size[1:]] * 2)
        self.mp.trajectory(params, self.times, 0.0, init_pos, init_vel, out=(pos.reshape(size), vel.reshape(size)))
        return DesiredPath(pos, vel)

    def _source(
        self, task: Any, controller: Optional[Controller], metrics: Union[Sequence[str], Mapping[str, str]], n_steps: Optional[int],
        dt: Optional[float],
    ) -> Source:
        if task is not None:
            return source_of(task, controller=controller, metrics=metrics, n_steps=n_steps, dt=dt, episodic=not self.acts)
        if self._given is not None:
            return self._given
        recorded = [value for key in ("python", "library") for value in [self._recorded(key)] if value]
        if recorded:
            raise StateError(
                E_STATE, "TCE_E_STATE",
                f"the task of this run is {recorded[0]}. A run folder is data, and its code is used only when you name it: give task=")
        return source_of(self.task_name)

    def _recorded(self, key: str) -> str:
        """task.library or task.python of the run's config.yaml."""
        if self.folder is None:
            return ""
        try:
            text = (Path(self.folder) / "config.yaml").read_text(encoding="utf-8")
        except OSError:
            return ""
        return recorded(text, key)

    def evaluate(
        self, n: int = 200, *, task: Optional[TaskLike] = None, seed: Optional[int] = None, threads: int = 0, controller: Optional[Controller] = None,
        metrics: Union[Sequence[str], Mapping[str, str]] = (), n_steps: Optional[int] = None, dt: Optional[float] = None, workers: int = 0,
    ) -> Evaluation:
        """n episodes of the mean policy on resets that training never saw: those that ``tce eval`` plays with this seed (by default the run's).

        The project's own tasks are found by their name; any other task is given as to :func:`tce.train`.
        """
        if self.folder is None:
            raise StateError(E_STATE, "TCE_E_STATE", f"{self._file} is a policy alone: its settings are in the run folder, open that")
        n = integer("n", n, 1, 10**6)
        source = self._source(task, controller, metrics, n_steps, dt)
        options = TrainPlayerOptions(
            struct_size=ctypes.sizeof(TrainPlayerOptions), folder=file_name(self.folder), n_episodes=n,
            n_threads=integer("threads", threads, 0, 1024), has_seed=seed is not None, seed=0 if seed is None else integer("seed", seed, 0, 2**64 - 1))
        returns, lengths = np.empty(n), np.empty(n, np.int32)
        found: Dict[str, Array] = {}

        def play() -> None:
            handle = c_void_p()
            trainer().tce_train_player_create(byref(options), byref(handle))
            assert handle.value is not None
            player = Owned(handle.value, trainer().tce_train_player_free)
            names = [trainer().tce_train_player_metric(player, i).decode() for i in range(trainer().tce_train_player_n_metrics(player))]
            values = np.empty((n, len(names)))
            trainer().tce_train_player_run(player, returns, lengths, values)
            found.update({name: values[:, i].copy() for i, name in enumerate(names)})

        group = Group()
        with start_workers(source, workers, self._recorded("options") or None) as started, source.task._creating(group):
            given = task_of(source, started)
            options.point(task=byref(given))
            call(group, play)
        return Evaluation(returns, lengths, found)

    def env(
        self, task: Optional[TaskLike] = None, *, controller: Optional[Controller] = None, metrics: Union[Sequence[str], Mapping[str, str]] = (),
        n_steps: Optional[int] = None, dt: Optional[float] = None, **keywords: Any,
    ) -> Any:
        """A Gymnasium environment whose action is what :meth:`act` gives: a step is a whole episode, unless the policy acts at every step.

        The task is found or given as for :meth:`evaluate`; keywords as :class:`tce.gym.EpisodeEnv`.
        """
        from .gym import EpisodeEnv, TaskEnv

        source = self._source(task, controller, metrics, n_steps, dt)
        if self.acts:
            return TaskEnv(source.task, self._recorded("options") or None, control="action", **keywords)
        return EpisodeEnv(source.task, self._recorded("options") or None, mp=self.mp, full=self.context is None, **keywords)

    def save(self, path: Union[str, "os.PathLike[str]"]) -> None:
        """Writes the policy as a file for :func:`tce.load` and the C library: policy.safetensors of a run folder."""
        with self._lock:
            trainer().tce_train_agent_save(self._handle, file_name(path))

    def __repr__(self) -> str:
        return f"Agent({self.folder or self._file!r}, task={self.task_name!r}, n_context={self.n_context}, n_params={self.n_params})"


def _opened(kind: Type[AnyAgent], content: bytes, kept: Dict[str, Any], given: Optional[Source] = None) -> AnyAgent:
    """A policy that was copied or pickled."""
    agent = kind.__new__(kind)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "policy.safetensors"
        file.write_bytes(content)
        agent._open(str(file))
    vars(agent).update(kept)
    agent._given = given
    return agent


def load(path: Union[str, "os.PathLike[str]"]) -> Agent:
    """Opens the newest policy of a run folder, a policy.safetensors, or a trained policy that comes with tce, such as "reacher5/tce-1"."""
    return Agent(path)


def save_policy(
    path: Union[str, "os.PathLike[str]"], policy: Policy, mp: MovementPrimitive, *, n_steps: int, dt: float, n_obs: Optional[int] = None,
    context: Sequence[int] = (), task: str = "",
) -> None:
    """Writes a policy that was trained in Python in the format of a run: :func:`load` and ``tce export`` take the file.

    policy   its outputs are the parameters of mp
    n_steps, dt  steps of an episode and seconds per step
    n_obs    numbers in an observation; by default what the policy sees
    context  entries of the observation that the policy sees; by default all
    task     name of the task
    """
    seen = len(context) or policy.n_obs
    parts = TrainParts(
        struct_size=ctypes.sizeof(TrainParts), n_obs=integer("n_obs", seen if n_obs is None else n_obs, 1, 2**31 - 1), n_context=len(context),
        n_steps=integer("n_steps", n_steps, 1, 2**31 - 1), dt=number("dt", dt), task=text("task", task))
    parts.point(policy=policy, mp=mp, context=np.array([integer("context", entry, 0) for entry in context], np.int32) if len(context) else None)
    with policy._lock:
        trainer().tce_train_agent_write(byref(parts), file_name(path))
