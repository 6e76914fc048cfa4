"""Many environments of one task: desired paths or actions in, transitions out."""

from __future__ import annotations

from ctypes import byref
from functools import partial
from typing import Any, Callable, Dict, Iterable, List, NamedTuple, Optional, Sequence, Tuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ._arrays import AnyArray, Array, Shapes, integer, text
from ._callbacks import Faults, Group, call, call_aside, in_main_thread
from ._choices import OnFault
from ._declarations import EnvResult, RolloutOptions, RolloutPaths
from ._declarations import EnvSpec as EnvSpecStruct
from ._declarations import Random as RandomState
from ._handle import Handle, fill, make, struct
from ._library import lib
from .base import MASK, Pool, RandomSource, random_stream
from .env import Start, Task, read_spec, render
from .errors import E_UNSUPPORTED, TceError, UnsupportedError, error

LONG = 1000  # steps of a task in C that Ctrl-C does not wait for

RESULT = np.dtype(EnvResult)


class Steps(NamedTuple):
    """The outcome of one step with raw actions in n environments."""

    obs: Array  # [n, O]
    results: AnyArray  # [n], with the fields reward, terminated, truncated and event


class Paths(NamedTuple):
    """The outcome of episodes along desired paths; [n, T] unless stated otherwise."""

    obs: Array  # [n, T+1, O], row 0 from reset
    rewards: Array
    terminated: NDArray[np.uint8]  # the task is over
    truncated: NDArray[np.uint8]  # the time is up
    events: NDArray[np.uint8]
    lengths: NDArray[np.int32]  # [n]: steps taken
    metrics: Array  # [n, M], after the last step


class Rollout(Handle):
    """n_envs environments of a task, on the threads of a pool.

    task      a :class:`tce.Task`: of a TaskLibrary, a PythonTask or a GymTask
    settings  text for the task's create function, "key=value" lines
    seed, purpose  with an environment's number and an episode's number they key its random stream
    first_env   number of the first environment, where those of one run are split over several Rollouts
    on_fault  "fail": a fault is raised; "drop": the episode is marked (see :meth:`status`) and the rest continues
    """

    _kind = "rollout"

    def __init__(
        self, task: Task, n_envs: int = 1, *, settings: Optional[str] = None, seed: int = 0, purpose: int = 0,
        first_env: int = 0, on_fault: OnFault = "fail", pool: Optional[Pool] = None,
    ) -> None:
        super().__init__()
        self.task, self.pool = task, pool
        self._uses, self._keep = task._uses, task
        self._use(pool)
        self._threads = 1 if pool is None else pool.n_threads
        options = struct(RolloutOptions)
        fill(options, {"n_envs": n_envs, "on_fault": on_fault, "seed": seed, "purpose": purpose, "first_env": first_env})
        options.vtable = task._vtable
        options.point(pool=pool)
        options.settings = None if settings is None else text("settings", settings)
        self._group = Group()
        with task._creating(self._group):
            self._owned = self._own(self._run(make, lib.tce_rollout_create, byref(options), None))
        self.spec = read_spec(EnvSpecStruct.from_address(lib.tce_rollout_spec(self)))
        self.spec.n_state = int(lib.tce_rollout_n_state(self))
        self.n_envs = int(options.n_envs)
        self._first: Optional[Array] = None

    def _shown(self) -> Dict[str, Any]:
        return {"task": self.task, "n_envs": self.n_envs}

    def _run(self, function: Callable[..., Any], *arguments: Any, faults: Optional[Faults] = None) -> Any:
        """A call that may run Python environments: their exceptions become causes, an interrupt is raised itself."""
        with self._lock:
            if not self.task._in_python:
                return function(*arguments)
            return call(self._group, function, *arguments, faults=faults)

    def _run_long(self, n_steps: int, function: Callable[..., Any], *arguments: Any) -> Any:
        """The same for whole episodes, which Ctrl-C need not wait for. ctypes holds the arrays among the arguments."""
        # Python environments without a pool stay in the thread that made them; a few steps in C take no time
        short = self._threads == 1 if self.task._in_python else n_steps < LONG
        if short or not in_main_thread():
            return self._run(function, *arguments)
        return call_aside(lambda faults: self._run(function, *arguments, faults=faults), self.task._in_python)

    def _count(self, n: Optional[int]) -> int:
        return self.n_envs if n is None else integer("n", n, 1, self.n_envs)

    def reset(self, episode: int = 0, n: Optional[int] = None) -> Start:
        """Starts an episode in the first n environments (all): (obs [n, O], pos [n, D], vel [n, D])."""
        shapes = Shapes(N=self._count(n), O=self.spec.n_obs, D=self.spec.n_dof)
        obs, pos, vel = shapes.empty("N O"), shapes.empty("N D"), shapes.empty("N D")
        self._run(
            lib.tce_rollout_reset, self, shapes["N"], integer("episode", episode, 0, MASK), obs, pos, vel)
        self._first = obs.copy()
        return Start(obs, pos, vel)

    def reset_where(self, streams: Sequence[RandomSource], which: Any = None) -> Start:
        """Starts episodes from random streams, one for each environment of ``which`` (ascending; None: the first ones), in
        place of those keyed by seed, purpose and episode: (obs [n, O], pos [n, D], vel [n, D])."""
        sources = [random_stream(stream) for stream in streams]
        shapes = Shapes(N=self._count(len(sources)), O=self.spec.n_obs, D=self.spec.n_dof)
        chosen = np.arange(len(sources)) if which is None else shapes.integers("which", which, "N")
        if chosen.min() < 0:
            raise ValueError(f"which: {chosen.min()}, expected 0 to {self.n_envs - 1}")
        states = (RandomState * len(sources))(*(source._state for source in sources))
        obs, pos, vel = shapes.empty("N O"), shapes.empty("N D"), shapes.empty("N D")
        numbers = np.require(chosen, np.uintp, ["C", "A"])
        self._run(
            lib.tce_rollout_reset_where, self, len(sources), numbers, states, obs, pos, vel)
        for source, state in zip(sources, states):
            source.state = bytes(state)
        known = np.empty((0, self.spec.n_obs)) if self._first is None else self._first
        self._first = np.concatenate([known, np.zeros((self.n_envs - len(known), self.spec.n_obs))])
        self._first[chosen] = obs
        return Start(obs, pos, vel)

    def run(self, pos: ArrayLike, vel: ArrayLike, out: Optional[Paths] = None) -> Paths:
        """Runs the episodes of the last :meth:`reset` along desired paths pos, vel [n, T, D].

        ``out``: the result of a call with the same sizes, whose arrays are overwritten.
        """
        if self.spec.n_dof == 0:
            raise UnsupportedError(
                E_UNSUPPORTED, "TCE_E_UNSUPPORTED", f"{self.task.name} tracks no desired paths: call step with raw actions")
        shapes = Shapes(D=self.spec.n_dof)
        desired, speeds = shapes.array("pos", pos, "N T D"), shapes.array("vel", vel, "N T D")
        n, T = shapes["N"], shapes["T"]
        paths = self._paths(n, T) if out is None else out
        if out is not None:
            self._check_paths(out, n, T)
        if self._first is not None and len(self._first) >= n:
            paths.obs[:, 0] = self._first[:n]
        raw = struct(RolloutPaths)
        raw.point(**{name: array if array.size else None for name, array in paths._asdict().items()})
        self._run_long(n * T, lib.tce_rollout_run, self, n, T, desired, speeds, byref(raw))
        return paths

    def _paths(self, n: int, T: int) -> Paths:
        terminated, truncated, events = (np.empty((n, T), np.uint8) for _ in range(3))
        return Paths(
            np.empty((n, T + 1, self.spec.n_obs)), np.empty((n, T)), terminated, truncated, events, np.empty(n, np.int32),
            np.empty((n, len(self.spec.metric_names))))

    def _check_paths(self, out: Paths, n: int, T: int) -> None:
        """ValueError unless these are the arrays of a result for n paths of T steps."""
        arrays: Iterable[Tuple[str, AnyArray, AnyArray]] = zip(Paths._fields, out, self._paths(n, T))
        for name, given, wanted in arrays:
            flags = getattr(given, "flags", None)
            if flags is None or given.dtype != wanted.dtype or given.shape != wanted.shape or not (flags.c_contiguous and flags.writeable):
                raise ValueError(f"out: {name} has to be a C-contiguous array {list(wanted.shape)} of {wanted.dtype} that can be written")

    def step(self, actions: ArrayLike) -> Steps:
        """One step with raw actions [n, A]: obs [n, O] and a structured array [n] with the fields reward,
        terminated, truncated and event. Environments that ended are not reset."""
        shapes = Shapes(A=self.spec.n_action, O=self.spec.n_obs)
        given = shapes.array("actions", actions, "N A")
        obs, results = shapes.empty("N O"), np.zeros(shapes["N"], RESULT)
        self._run(lib.tce_rollout_step, self, shapes["N"], given, obs, results)
        return Steps(obs, results)

    def metrics(self, n: Optional[int] = None) -> Array:
        """Metrics [n, M] of the first n environments, in the order of ``spec.metric_names``."""
        shapes = Shapes(N=self._count(n), M=len(self.spec.metric_names))
        out = shapes.empty("N M")
        if out.size:
            self._run(lib.tce_rollout_metrics, self, shapes["N"], out)
        return out

    def get_states(self, n: Optional[int] = None) -> Array:
        """States [n, S] of the first n environments (all), for :meth:`set_states`: the task's, then where each is in its episode."""
        shapes = Shapes(N=self._count(n), S=int(lib.tce_rollout_n_state(self)))
        out = shapes.empty("N S")
        self._run(lib.tce_rollout_get_states, self, shapes["N"], out)
        return out

    def set_states(self, states: Any) -> Array:
        """Puts states [n, S] into the first n environments, which continue where they were, in mid-episode too; gives
        their observations [n, O]."""
        shapes = Shapes(S=int(lib.tce_rollout_n_state(self)), O=self.spec.n_obs)
        states = shapes.array("states", states, "N S")
        obs = shapes.empty("N O")
        self._run(lib.tce_rollout_set_states, self, self._count(shapes["N"]), states, obs)
        return obs

    def set_state(self, i: int, state: Any) -> None:
        """Puts the task's part of a state [S] into environment i alone, which must be reset before it runs or steps."""
        state = Shapes(S=int(lib.tce_rollout_n_state(self))).array("state", state, "S")
        obs = np.empty(self.spec.n_obs)
        self._of(i, "set_state", state, obs)

    def render(self, i: int, width: int = 640, height: int = 480) -> AnyArray:
        """A picture of environment i in its present state: uint8 [height, width, 3]."""
        return render(partial(self._of, i), width, height)

    def _of(self, i: int, name: str, *arguments: Any) -> Any:
        """Calls one of the task's functions for environment i."""
        i = integer("i", i, 0, self.n_envs - 1)
        with self._lock:
            rollout = self._check_open()  # alive as long as this call
            return self.task._call(name, lib.tce_rollout_instance(rollout, i), *arguments)

    def status(self) -> List[Optional[TceError]]:
        """For each environment None, or the fault it had in the last call."""
        faults: List[Optional[TceError]] = []
        for i in range(self.n_envs):
            status = lib.tce_rollout_status(self, i)
            name, message = lib.tce_status_name(status), lib.tce_rollout_message(self, i)
            faults.append(None if status == 0 else error(status, name.decode(), (message or b"").decode()))
        return faults
