"""Tasks written in Python: ``PythonTask`` from a class, ``GymTask`` from a Gymnasium environment."""

from __future__ import annotations

import contextlib
import copy
import ctypes
import itertools
import re
import threading
import traceback
import warnings
from collections import abc
from ctypes import c_char_p, c_void_p
from dataclasses import dataclass, field
from typing import Any, Callable, Dict, Iterator, List, Mapping, Optional, Sequence, Tuple, Union

import numpy as np

from ._arrays import AnyArray, Array, integer, number, text
from ._callbacks import Group, user_code
from ._control import Controller, one_environment
from ._declarations import TCE_ENV_ABI, EnvResult, EnvVtable, EnvVtableCallbacks
from ._declarations import EnvSpec as EnvSpecStruct
from ._declarations import Random as RandomState
from ._library import fail
from .base import Random
from .env import EnvSpec, StepResult, Task, read_doubles
from .errors import E_ENV, E_STATE, E_UNSUPPORTED, StateError, TceError


class Env:
    """Base class of a task written in Python. Set ``spec`` in ``__init__`` and write the methods that apply.

    Step ``spec.n_steps`` ends an episode by itself; an environment that ends earlier says so with ``terminated`` or
    ``truncated``. After an end it is reset before it is stepped again. An instance is never used by two threads at
    once, but different instances may be: they share nothing that is written. :func:`tce.check_env` tests all this.
    """

    spec: EnvSpec

    def reset(self, random: Random) -> Tuple[Any, Any, Any]:
        """Starts an episode drawn from ``random`` alone: (obs [O], pos [D], vel [D]) where desired paths start."""
        raise NotImplementedError

    def step(self, pos: Array, vel: Array) -> Union[StepResult, Tuple[Any, ...]]:
        """Tracks a desired position and velocity [D] for one step: a StepResult or a tuple of its fields."""
        raise NotImplementedError("this environment tracks no path")

    def step_action(self, action: Array) -> Union[StepResult, Tuple[Any, ...]]:
        """One step with a raw action."""
        raise NotImplementedError("this environment takes no raw action")

    def metrics(self) -> Sequence[float]:
        """Numbers about the episode so far, in the order of ``spec.metric_names``."""
        return ()

    def get_state(self) -> Sequence[float]:
        """All that the environment is, in ``spec.n_state`` numbers: at any time, also before the first reset. Where n_state is 0 it is not asked for.

        Where :attr:`EnvSpec.carries_state` says that a reset depends on the episodes before, this says how. A run of a method that acts at every
        step continues from it; without, it does the actions of the episode once more.
        """
        raise NotImplementedError("this environment does not tell its state")

    def set_state(self, state: Array) -> Any:
        """Makes the environment what get_state said, of this one or another of the same settings. Returns the observation [O] there."""
        raise NotImplementedError("this environment does not tell its state")

    def close(self) -> None:
        """The environment is not needed any more."""


def task_name(wanted: str) -> str:
    """The name of a task made of another name: "ALE/Pong-v5" and "<lambda>" have characters that it may not have."""
    return re.sub(r"^[.-]|[^A-Za-z0-9_.-]", "_", wanted) or "python"


def _write(name: str, value: Any, n: int, address: Optional[int]) -> None:
    """Copies n numbers to where C wants them."""
    if address is None:
        return
    array = np.require(np.asarray(value, np.float64).reshape(-1), np.float64, ["C", "A"])
    if array.size != n:
        raise ValueError(f"{name}: {array.size} numbers, expected {n}")
    ctypes.memmove(address, array.ctypes.data, array.nbytes)


@dataclass
class _Live:
    """A Python environment behind a C instance."""

    env: Env
    spec: EnvSpec
    left: int = 0  # steps until the end of the episode; 0: it is over, or none has begun
    group: Group = field(default_factory=Group)
    raw: Any = None  # the spec in C


class PythonTask(Task):
    """A task from Python code: ``factory(settings)`` returns a new :class:`Env` for each environment.

    Exceptions in the environment become TCE_E_ENV with the last line of the traceback as the message; the
    exception itself is the ``__cause__`` of what Rollout raises. With a pool, environments run in its threads,
    one at a time for the interpreter's lock. KeyboardInterrupt and SystemExit end the call and are raised as they are.
    """

    _in_python = True

    def __init__(
        self, factory: Callable[[Optional[str]], Env], name: str = "python", description: str = "",
    ) -> None:
        self._factory = factory
        self._fresh = factory  # makes an environment that nobody has yet, in this process or in another one
        self._live: Dict[int, _Live] = {}
        self._numbers = itertools.count(1)
        self._guard = threading.Lock()
        self._thread = threading.local()  # group: of the handle that is creating its environments
        table = EnvVtable(struct_size=ctypes.sizeof(EnvVtable), abi=TCE_ENV_ABI)
        table.name, table.description = text("name", name), text("description", description)
        entries = ("create", "destroy", "spec", "reset", "step", "step_action", "metrics", "get_state", "set_state")
        table.point(
            n_state=EnvVtableCallbacks["n_state"](self._on_n_state), **{entry: EnvVtableCallbacks[entry](self._guarded(entry)) for entry in entries})
        super().__init__(ctypes.addressof(table), keep=table)

    @contextlib.contextmanager
    def _creating(self, group: Group) -> Iterator[None]:
        before, self._thread.group = getattr(self._thread, "group", None), group
        try:
            yield
        finally:
            self._thread.group = before

    def _group(self, entry: str, arguments: Tuple[Any, ...]) -> Group:
        """Who is told of exceptions in a C entry."""
        if entry == "create":
            return getattr(self._thread, "group", None) or Group()
        live = self._live.get(arguments[0])
        return Group() if live is None else live.group

    def _guarded(self, entry: str) -> Callable[..., Any]:
        """The C entry: exceptions end here, as a status and a message."""
        function = getattr(self, "_on_" + entry)

        def call(*arguments: Any) -> Any:
            faults = self._group(entry, arguments).faults
            if faults.interrupt is not None and entry != "destroy":
                return fail(E_ENV, f"not started: the call was ended by {type(faults.interrupt).__name__}")
            try:
                user_code(faults, function, *arguments)
                return 0
            except NotImplementedError as reason:
                return fail(E_UNSUPPORTED, str(reason))
            except TceError as fault:
                status, text = fault.status, fault.message
                reason_ = fault  # type: BaseException
            except BaseException as fault:  # nothing may unwind through C
                status, text = E_ENV, traceback.format_exception_only(type(fault), fault)[-1].strip()
                reason_ = fault
            faults.add(reason_)
            return fail(status, text)

        if entry == "destroy":
            return lambda instance: (call(instance), None)[1]
        return call

    def _on_create(self, user: Any, settings: Optional[bytes], out: int) -> None:
        env = self._factory(None if settings is None else settings.decode())
        spec = getattr(env, "spec", None)
        if not isinstance(spec, EnvSpec):
            raise TypeError(f"the factory made {env!r}, expected a tce.Env that sets spec, a tce.EnvSpec")
        spec = copy.copy(spec)  # sizes are those that C has been told, also when the environment changes its own
        live = _Live(env, spec, group=self._group("create", ()))
        names = (c_char_p * len(spec.metric_names))(*(text("metric_names", name) for name in spec.metric_names))
        context = np.array([integer("context", i) for i in spec.context], np.int32)
        low = np.full(spec.n_action, -np.inf) if spec.action_low is None else np.array(spec.action_low, np.float64).reshape(-1)
        high = np.full(spec.n_action, np.inf) if spec.action_high is None else np.array(spec.action_high, np.float64).reshape(-1)
        spec.n_state = integer("n_state", spec.n_state, 0, 2**31 - 2)
        if spec.carries_state and spec.n_state == 0:
            raise ValueError("carries_state: the spec's n_state is 0: say in n_state how many numbers get_state gives, and write get_state and set_state")
        for entry, bound in (("action_low", low), ("action_high", high)):
            if bound.size != spec.n_action:
                raise ValueError(f"{entry}: {bound.size} numbers, expected {spec.n_action}")
        live.raw = EnvSpecStruct(
            n_obs=spec.n_obs, n_dof=spec.n_dof, n_action=spec.n_action, n_steps=spec.n_steps,
            n_metrics=len(spec.metric_names), n_context=len(spec.context), dt=spec.dt,
            carries_state=spec.carries_state, velocity_end=spec.velocity_end)
        pointed: Dict[str, Any] = {"metric_names": names, "context": context, "action_low": low, "action_high": high}
        live.raw.point(**{entry: array if len(array) else None for entry, array in pointed.items()})
        number = next(self._numbers)
        with self._guard:
            self._live[number] = live
        c_void_p.from_address(out).value = number

    def _on_destroy(self, instance: int) -> None:
        with self._guard:
            live = self._live.pop(instance, None)
        if live is not None:
            live.env.close()

    def _on_spec(self, instance: int, out: int) -> None:
        # the caller's struct may be shorter or longer than the one known here
        raw = self._live[instance].raw
        room = ctypes.c_size_t.from_address(out).value
        skip = ctypes.sizeof(ctypes.c_size_t)
        size = min(room or ctypes.sizeof(raw), ctypes.sizeof(raw)) - skip
        ctypes.memmove(out + skip, ctypes.addressof(raw) + skip, size)

    def _on_reset(self, instance: int, random: int, obs: int, pos: int, vel: int) -> None:
        live = self._live[instance]
        live.left = 0
        stream = Random()
        stream.state = ctypes.string_at(random, ctypes.sizeof(RandomState))
        first, start, speed = live.env.reset(stream)
        _write("obs", first, live.spec.n_obs, obs)
        _write("pos", start, live.spec.n_dof, pos)
        _write("vel", speed, live.spec.n_dof, vel)
        ctypes.memmove(random, stream.state, ctypes.sizeof(RandomState))
        live.left = live.spec.n_steps

    def _in_episode(self, instance: int) -> _Live:
        live = self._live[instance]
        if live.left <= 0:
            raise StateError(E_STATE, "TCE_E_STATE", f"{self.name}: the episode is over or was never begun: reset the environment before it is stepped")
        return live

    def _result(self, live: _Live, result: Any, obs: int, out: int) -> None:
        if not isinstance(result, StepResult):
            result = StepResult(*result)
        raw = EnvResult.from_address(out)
        _write("obs", result.obs, live.spec.n_obs, obs)
        raw.reward = float(result.reward)
        live.left -= 1
        raw.terminated, raw.event = bool(result.terminated), bool(result.event)
        raw.truncated = bool(result.truncated) or (live.left == 0 and not raw.terminated)
        if raw.terminated or raw.truncated:
            live.left = 0

    def _on_step(self, instance: int, pos: int, vel: int, obs: int, out: int) -> None:
        live = self._in_episode(instance)
        n = live.spec.n_dof
        self._result(live, live.env.step(read_doubles(n, pos), read_doubles(n, vel)), obs, out)

    def _on_step_action(self, instance: int, action: int, obs: int, out: int) -> None:
        live = self._in_episode(instance)
        self._result(live, live.env.step_action(read_doubles(live.spec.n_action, action)), obs, out)

    def _on_n_state(self, instance: int) -> int:
        """The environment's numbers come after the steps that are left of the episode."""
        n = self._live[instance].spec.n_state
        return 1 + int(n) if n > 0 else 0

    def _on_get_state(self, instance: int, out: int) -> None:
        live = self._live[instance]
        numbers = np.asarray(live.env.get_state(), np.float64).reshape(-1)
        if numbers.size != live.spec.n_state:
            raise ValueError(f"get_state: {numbers.size} numbers, expected n_state = {live.spec.n_state}")
        _write("state", np.append(float(live.left), numbers), 1 + numbers.size, out)

    def _on_set_state(self, instance: int, state: int, obs: int) -> None:
        live = self._live[instance]
        left, *numbers = read_doubles(1 + live.spec.n_state, state)
        live.left = 0
        _write("obs", live.env.set_state(np.array(numbers)), live.spec.n_obs, obs)
        live.left = integer("state[0]", float(left), 0, live.spec.n_steps)

    def _on_metrics(self, instance: int, out: int) -> None:
        live = self._live[instance]
        _write("metrics", live.env.metrics(), len(live.spec.metric_names), out)


def _float(name: str, value: Any) -> float:
    """A number that an environment gave."""
    return value if type(value) is float else number(name, value)


def _flag(name: str, value: Any) -> bool:
    """A truth value that an environment gave."""
    try:
        return bool(value)
    except ValueError:
        raise ValueError(f"{name}: {value!r}, expected True or False") from None


class GymAdapter(Env):
    """One Gymnasium environment as an :class:`Env`; see :class:`GymTask`."""

    def __init__(
        self, env: Any, n_steps: Optional[int], dt: Optional[float], n_dof: Optional[int], position: Any,
        velocity: Any, controller: Union[Controller, Callable[[Array, Array, Array], Any], None], kp: Any, kd: Any,
        metrics: Mapping[str, str], context: Sequence[int],
    ) -> None:
        one_environment(env)
        self.env = env
        self.position, self.velocity = position, velocity
        self.controller = controller
        self.kp, self.kd = kp, kd
        self.keys = list(metrics.values())
        self.unseen = set(self.keys)  # that no info had yet
        self.info: Mapping[str, Any] = {}
        self.obs: Array = np.zeros(0)
        self.last_action: AnyArray = np.zeros(0)  # as the environment got it
        for what in ("observation_space", "action_space"):
            space = getattr(env, what, None)
            if getattr(space, "low", None) is None or getattr(space, "shape", None) is None:
                raise TypeError(
                    f"{what}: {space}; a GymTask takes environments whose observations and actions are both a Box, numbers between "
                    "limits: wrap this one in one that has them (gymnasium.wrappers.FlattenObservation makes a Box of a Dict or Tuple), or write a tce.Env")
        self.low = np.asarray(env.action_space.low, np.float64).reshape(-1)
        self.high = np.asarray(env.action_space.high, np.float64).reshape(-1)
        n_obs = self.n_obs = int(np.prod(env.observation_space.shape))
        for entry in context:
            integer("context", entry, 0, n_obs - 1)
        if n_steps is None:
            n_steps = getattr(getattr(env, "spec", None), "max_episode_steps", None)
        if n_steps is None and hasattr(env, "has_wrapper_attr") and env.has_wrapper_attr("_max_episode_steps"):
            n_steps = env.get_wrapper_attr("_max_episode_steps")  # of gymnasium.wrappers.TimeLimit
        if n_steps is None:
            raise ValueError("n_steps: the environment has no time limit of its own: give n_steps=, or wrap it in gymnasium.wrappers.TimeLimit")
        if dt is None:
            dt = getattr(env.unwrapped, "dt", None)
        if dt is None:
            fps = (getattr(env, "metadata", None) or {}).get("render_fps")
            dt = 1.0 / fps if fps else None
        if dt is None:
            raise ValueError("dt: the environment does not state its time step (an attribute dt, or metadata['render_fps']): give dt=")
        n_steps, dt = integer("n_steps", n_steps, 1, 2**31 - 1), number("dt", dt)
        if not (dt > 0.0 and np.isfinite(dt)):
            raise ValueError(f"dt: {dt:g}, expected a number of seconds above 0")
        if isinstance(controller, Controller):
            self.begin(seed=0)
            n_dof = controller.read(env, self.obs)[0].size
        if n_dof is None:
            tracked = 0 if controller is None else self.low.size
            n_dof = tracked if position is None else np.arange(n_obs)[position].size
        self.spec = EnvSpec(
            n_obs=n_obs, n_dof=int(n_dof), n_steps=n_steps, dt=dt, n_action=self.low.size,
            metric_names=tuple(metrics), context=tuple(context), action_low=self.low, action_high=self.high)
        self.obs = np.zeros(n_obs)

    def _entries(self, which: Any) -> Array:
        return np.zeros(self.spec.n_dof) if which is None else self.obs[which].reshape(-1)

    def _returned(self, function: str, values: Any, expected: str, n: int) -> Any:
        """What a function of the environment returned: n values, the first an observation and the last an info."""
        several = isinstance(values, (tuple, list))
        if not several or len(values) != n:
            given = f"{len(values)} values" if several else f"a {type(values).__name__}"
            raise TypeError(f"{function} of {type(self.env.unwrapped).__name__} returned {given}, expected {expected}")
        obs, info = np.array(values[0]), values[-1]
        if obs.dtype.kind not in "fiub" or obs.size != self.n_obs:
            given = f"{obs.size} numbers" if obs.dtype.kind in "fiub" else f"an array of {obs.dtype}"
            raise ValueError(f"obs: {function} of {type(self.env.unwrapped).__name__} returned {given}, expected {self.n_obs} numbers as its observation_space has")
        if not isinstance(info, (dict, abc.Mapping)):
            raise TypeError(f"info: {function} of {type(self.env.unwrapped).__name__} returned {info!r}, expected a dict")
        # an array of the adapter's own: the environment may change its own at every step
        self.obs, self.info = obs.astype(np.float64, copy=False).reshape(-1), info
        if self.unseen:
            self.unseen.difference_update(info)
        return values

    def begin(self, **keywords: Any) -> Any:
        """Resets the environment; what it returned."""
        return self._returned("reset", self.env.reset(**keywords), "(observation, info)", 2)

    def reset(self, random: Random) -> Tuple[Array, Array, Array]:
        self.begin(seed=random.below(2**31))
        if isinstance(self.controller, Controller):
            return (self.obs, *self.controller.read(self.env, self.obs))
        return self.obs, self._entries(self.position), self._entries(self.velocity)

    def step(self, pos: Array, vel: Array) -> StepResult:
        if isinstance(self.controller, Controller):
            return self.step_action(self.controller.action(self.env, self.obs, pos, vel))
        if self.controller is not None:
            return self.step_action(np.asarray(self.controller(self.obs, pos, vel), np.float64).reshape(-1))
        force = self.kp * (pos - self._entries(self.position)) + self.kd * (vel - self._entries(self.velocity))
        return self.step_action(force)

    def step_action(self, action: Array) -> StepResult:
        space = self.env.action_space
        bounded = np.clip(action, self.low, self.high).astype(space.dtype).reshape(space.shape)
        self.last_action = bounded.reshape(-1)
        _, reward, terminated, truncated, _ = self._returned(
            "step", self.env.step(bounded), "(observation, reward, terminated, truncated, info)", 5)
        return StepResult(self.obs, _float("reward", reward), _flag("terminated", terminated), _flag("truncated", truncated))

    def metrics(self) -> List[float]:
        if self.unseen and self.last_action.size > 0:  # a step was taken
            warnings.warn(f"metrics: no info has had {', '.join(map(repr, sorted(self.unseen)))} so far, the last one has {sorted(map(str, self.info))}: "
                          "what is missing counts as 0", RuntimeWarning, stacklevel=2)
            self.unseen.clear()
        return [_float(f"info[{key!r}]", self.info.get(key, 0.0)) for key in self.keys]

    def __repr__(self) -> str:
        return f"GymAdapter({self.env})"

    def close(self) -> None:
        self.env.close()


@dataclass
class _Fresh:
    """Makes a new environment, whatever its settings."""

    make: Callable[[], Env]

    def __call__(self, settings: Optional[str]) -> Env:
        return self.make()


class GymTask(PythonTask):
    """A task from any Gymnasium environment with Box spaces.

    make        a function that returns a new environment, or an id for gymnasium.make
    n_steps     steps of an episode; by default the environment's own limit
    dt          seconds per step; by default what the environment states
    controller  a :class:`tce.gym.Controller`, or a function ``controller(obs, pos, vel) -> action`` that tracks a desired position
                and velocity
    position, velocity  in place of a controller: which observation entries (a slice or indices) hold them; the action
                is then kp (pos - obs[position]) + kd (vel - obs[velocity])
    n_dof       numbers in a desired position; by default as many as ``position`` has, or as an action has where there is a
                controller. With neither the task tracks no paths, and n_dof is 0
    metrics     names of numbers in ``info``, or {metric name: info key}
    context     observation entries that episodic methods see; by default all

    Actions are clipped to the Box. Seeds are drawn from libtce's stream of (seed, purpose, environment, episode). The first
    environment is made at once, so that one which cannot serve is refused here.
    """

    def __init__(
        self, make: Union[str, Callable[[], Any]], *, n_steps: Optional[int] = None, dt: Optional[float] = None,
        controller: Union[Controller, Callable[[Array, Array, Array], Any], None] = None, position: Any = None,
        velocity: Any = None, kp: Any = 1.0, kd: Any = 0.0, n_dof: Optional[int] = None,
        metrics: Union[Sequence[str], Mapping[str, str]] = (), context: Sequence[int] = (),
        name: Optional[str] = None,
    ) -> None:
        if isinstance(metrics, str):
            raise TypeError(f"metrics: {metrics!r}, expected a list of names: [{metrics!r}]")
        if controller is not None and not isinstance(controller, Controller) and not callable(controller):
            raise TypeError(f"controller: {controller!r}, expected a tce.gym.Controller, or a function (obs, pos, vel) -> action")
        names = dict(metrics) if isinstance(metrics, Mapping) else {key: key for key in metrics}
        gains = [np.asarray(gain, np.float64) for gain in (kp, kd)]

        def adapter() -> GymAdapter:
            if isinstance(make, str):
                import gymnasium

                env = gymnasium.make(make)
            else:
                env = make()
            try:
                return GymAdapter(
                    env, n_steps, dt, n_dof, position, velocity, controller, gains[0], gains[1], names, context)
            except Exception:
                env.close()  # type: ignore[no-untyped-call]
                raise

        first = [adapter()]

        def factory(settings: Optional[str]) -> Env:
            try:
                return first.pop()
            except IndexError:
                return adapter()

        super().__init__(factory, name or (task_name(make) if isinstance(make, str) else "gymnasium"))
        self._fresh = _Fresh(adapter)
