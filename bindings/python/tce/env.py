"""Tasks: what libtce runs. A task is a table of functions; ``TaskLibrary`` loads those of a shared object.

Tasks written in Python are in ``python_env``.
"""

from __future__ import annotations

import contextlib
import ctypes
import difflib
import importlib.util
import os
import re
import shutil
import sys
from ctypes import byref, c_char_p, c_int32, c_void_p
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, List, Mapping, NamedTuple, Optional, Sequence, Tuple, Union

import numpy as np
from numpy.typing import ArrayLike

from ._arrays import AnyArray, Array, Shapes, file_name, integer, text
from ._callbacks import Group, call
from ._declarations import EnvResult, EnvVtable, EnvVtableCallbacks, EnvVtableFunctions
from ._declarations import EnvSpec as EnvSpecStruct
from ._handle import Handle, Owned, make, struct
from ._library import declare, lib
from .base import RandomSource, random_stream
from .errors import E_ENV, E_LIBRARY, E_NOT_FOUND, E_STATE, E_UNSUPPORTED, LibraryError, NotFoundError, StateError, UnsupportedError, error

TASKS_NAME = "libtce_tasks.dylib" if sys.platform == "darwin" else "libtce_tasks.so"


@dataclass
class EnvSpec:
    """What a task looks like from outside."""

    n_obs: int  # numbers in an observation
    n_dof: int  # numbers in a desired position; 0: tracks no paths, raw actions only
    n_steps: int  # steps of a whole episode
    dt: float  # seconds per step
    n_action: int = 0  # numbers in a raw action; 0: none
    metric_names: Sequence[str] = ()
    context: Sequence[int] = ()  # observation entries that episodic methods see; (): all
    action_low: Optional[Array] = None
    action_high: Optional[Array] = None
    carries_state: bool = False  # a reset depends on the episodes before it, through what get_state gives
    n_state: int = 0  # numbers in what get_state of the environment gives, or in a row of Rollout.get_states; 0: it does not tell its state
    velocity_end: int = 0  # the joint velocities are the n_dof entries of an observation before this one; 0: not shown


class Start(NamedTuple):
    """The first observation of an episode, and the position and velocity where desired paths start."""

    obs: Array
    pos: Array
    vel: Array


class StepResult(NamedTuple):
    """The outcome of one step."""

    obs: Array
    reward: float
    terminated: bool = False
    truncated: bool = False
    event: bool = False  # the deciding event has happened


def read_doubles(n: int, address: int) -> Array:
    """A copy of n numbers of C."""
    out = np.empty(n)
    ctypes.memmove(out.ctypes.data, address, out.nbytes)
    return out


class Task:
    """A task that libtce can run: ``vtable`` is a pointer to its functions, ``name`` and ``description`` texts."""

    _in_python = False  # its environments are Python code

    def __init__(self, vtable: int, keep: Any = None, uses: Tuple[Owned, ...] = (), library_path: str = "") -> None:
        self._vtable = vtable
        self._keep = keep
        self._uses = uses  # the library that has the table
        self.library_path = library_path  # "": it is of no library
        self._table = EnvVtable.from_address(vtable)
        lib.tce_env_check(vtable)
        self.name: str = (self._table.name or b"").decode()
        self.description: str = (self._table.description or b"").decode()
        self._functions = {
            name: declare(EnvVtableCallbacks[name](getattr(self._table, name)), *types)
            for name, types in EnvVtableFunctions.items() if getattr(self._table, name)}

    def _call(self, name: str, *arguments: Any) -> Any:
        """Calls one of the task's functions; a status that it returns is raised."""
        if name not in self._functions:
            raise UnsupportedError(E_UNSUPPORTED, "TCE_E_UNSUPPORTED", f"{self.name} does not offer {name}")
        return self._functions[name](*arguments)

    @contextlib.contextmanager
    def _creating(self, group: Group) -> Iterator[None]:
        """Environments that are created within report the exceptions of their Python code to the group."""
        yield

    def create(self, settings: Optional[str] = None) -> "Instance":
        """One environment, to be stepped directly."""
        return Instance(self, settings)

    def __reduce_ex__(self, protocol: Any) -> Any:
        if not self.library_path:
            raise TypeError(f"the task {self.name} cannot be copied or pickled: make it again where it is needed")
        return task_of_library, (self.library_path, self.name)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r})"


def task_of_library(path: str, name: str) -> Task:
    """A task of a library that is opened for it."""
    return TaskLibrary(path)[name]


class Instance(Handle):
    """One environment of a task, stepped directly. Use :class:`tce.Rollout` for many.

    The step that reaches ``spec.n_steps`` ends the episode whatever the task says. Steps before a reset and after the end
    are a StateError; :meth:`set_state` starts an episode too, but only the task decides when that one ends.
    """

    def __init__(self, task: Task, settings: Optional[str] = None) -> None:
        super().__init__(uses=task._uses)
        self.task = task
        self._event = 0  # sticky over the steps of an episode
        self._count: Optional[int] = 0  # steps of the episode; None: it started in a state that was put in
        self.running = False  # there is an episode that can be stepped
        self._group = Group()
        out = c_void_p()
        with task._creating(self._group):
            self._invoke("create", None, None if settings is None else text("settings", settings), byref(out))
        if not out.value:
            raise error(E_ENV, "TCE_E_ENV", f"create of {task.name} returned TCE_OK but no instance")
        self._owned = Owned(out.value, task._functions["destroy"], self._uses, task)
        raw = struct(EnvSpecStruct)
        self._call("spec", byref(raw))
        self.spec = read_spec(raw)
        if "n_state" in task._functions:
            self.spec.n_state = int(self._call("n_state"))

    @property
    def _title(self) -> str:
        return f"the environment of {self.task.name}"

    def _shown(self) -> Dict[str, Any]:
        return {"task": self.task}

    def _call(self, name: str, *arguments: Any) -> Any:
        with self._lock:
            return self._invoke(name, self._check_open(), *arguments)

    def _invoke(self, name: str, *arguments: Any) -> Any:
        if self.task._in_python:
            return call(self._group, self.task._call, name, *arguments)
        return self.task._call(name, *arguments)

    def offers(self, name: str) -> bool:
        """Whether the task has an optional function: step_action, metrics, n_state, get_state, set_state, render."""
        return name in self.task._functions and (name not in ("n_state", "get_state", "set_state") or self.spec.n_state > 0)

    def reset(self, random: RandomSource) -> Start:
        """A new episode: (obs [O], pos [D], vel [D])."""
        obs, pos, vel = np.empty(self.spec.n_obs), np.empty(self.spec.n_dof), np.empty(self.spec.n_dof)
        self.running = False
        self._call("reset", random_stream(random), obs, pos, vel)
        self._event, self._count, self.running = 0, 0, True
        return Start(obs, pos, vel)

    def _step(self, name: str, *inputs: Array) -> StepResult:
        self._check_open()
        if not self.running and self.offers(name):
            raise StateError(
                E_STATE, "TCE_E_STATE",
                f"{self.task.name}: the episode is over or was never begun: reset the environment before it is stepped")
        obs, result = np.empty(self.spec.n_obs), EnvResult(event=self._event)
        self._call(name, *inputs, obs, byref(result))
        self._event = result.event
        terminated, truncated = bool(result.terminated), bool(result.truncated)
        if self._count is not None:
            self._count += 1
            truncated = truncated or (self._count >= self.spec.n_steps and not terminated)
        self.running = not (terminated or truncated)
        return StepResult(obs, result.reward, terminated, truncated, bool(result.event))

    def step(self, pos: ArrayLike, vel: ArrayLike) -> StepResult:
        """Tracks a desired position and velocity [D] for one step."""
        shapes = Shapes(D=self.spec.n_dof)
        return self._step("step", shapes.finite("pos", pos, "D"), shapes.finite("vel", vel, "D"))

    def step_action(self, action: ArrayLike) -> StepResult:
        """One step with a raw action [A]."""
        return self._step("step_action", Shapes(A=self.spec.n_action).finite("action", action, "A"))

    def metrics(self) -> Dict[str, float]:
        """Numbers about the episode so far, by name."""
        if not self.spec.metric_names:
            return {}
        out = np.empty(len(self.spec.metric_names))
        self._call("metrics", out)
        return dict(zip(self.spec.metric_names, out.tolist()))

    def get_state(self) -> Array:
        """The full physics and task state."""
        out = np.empty(self._call("n_state"))
        self._call("get_state", out)
        return out

    def set_state(self, state: ArrayLike) -> Array:
        """Puts a state back; the observation is returned."""
        numbers = Shapes(N=self._call("n_state")).array("state", state, "N")
        obs = np.empty(self.spec.n_obs)
        self._call("set_state", numbers, obs)
        self._count, self.running = None, True
        return obs

    def render(self, width: int = 640, height: int = 480) -> AnyArray:
        """A picture of the present state: uint8 [height, width, 3]."""
        return render(self._call, width, height)


def render(call: Callable[..., Any], width: int, height: int) -> AnyArray:
    """A picture that call("render", width, height, address) draws: uint8 [height, width, 3]."""
    out = np.zeros((integer("height", height, 1), integer("width", width, 1), 3), np.uint8)
    call("render", out.shape[1], out.shape[0], out)
    return out


def read_spec(raw: Any) -> EnvSpec:
    """A copy of a C spec."""

    def doubles(address: Optional[int]) -> Optional[Array]:
        return read_doubles(raw.n_action, address) if address and raw.n_action > 0 else None

    names = (c_char_p * raw.n_metrics).from_address(raw.metric_names) if raw.n_metrics > 0 else ()
    context = (c_int32 * raw.n_context).from_address(raw.context) if raw.n_context > 0 else ()
    return EnvSpec(
        n_obs=raw.n_obs, n_dof=raw.n_dof, n_steps=raw.n_steps, dt=raw.dt, n_action=raw.n_action,
        metric_names=tuple((name or b"").decode() for name in names), context=tuple(context),
        action_low=doubles(raw.action_low), action_high=doubles(raw.action_high),
        carries_state=bool(raw.carries_state), velocity_end=raw.velocity_end)


def tasks_places() -> List[Path]:
    """Where the project's own tasks, libtce_tasks.so, may be when TCE_TASKS is not set, best first."""
    package = Path(__file__).resolve().parent
    places = [package / "bin" / TASKS_NAME]
    if len(package.parents) > 2:
        places.append(package.parents[2] / "build" / "bin" / TASKS_NAME)
    program = shutil.which("tce")
    if program:
        folder = Path(program).resolve().parent
        places += [folder / TASKS_NAME, folder.parent / "lib" / TASKS_NAME, folder.parent / "lib" / "tce" / TASKS_NAME]
    return places


def find_tasks() -> Path:
    """The project's own task library. NotFoundError, with what was tried and the remedy, when there is none."""
    named = os.environ.get("TCE_TASKS")
    places = [Path(named).absolute()] if named else tasks_places()
    for place in places:
        if place.is_file():
            return place
    raise NotFoundError(
        E_NOT_FOUND, "TCE_E_NOT_FOUND",
        f"no {TASKS_NAME} at {', '.join(map(str, places))}. Build it with `make program` in a checkout of libtce, then name it in "
        "TCE_TASKS or install the package again.")


def _mujoco_of_python(wanted: str) -> Optional[Path]:
    """MuJoCo's library of that file name in the Python package mujoco, wherever that is installed; LibraryError where the package has another one."""
    found = importlib.util.find_spec("mujoco")
    folders = [Path(place) for place in (found.submodule_search_locations or [])] if found else []
    path = next((folder / wanted for folder in folders if (folder / wanted).is_file()), None)
    others = [other.name for folder in folders for other in sorted(folder.glob("libmujoco*"))]
    version = re.search(r"\d+(\.\d+)+", wanted)
    if path is None and others and version:
        raise LibraryError(
            E_LIBRARY, "TCE_E_LIBRARY",
            f"the tasks need {wanted}, and the installed package mujoco has {others[0]}: pip install mujoco=={version[0]}")
    return path


def _open_library(path: str) -> int:
    """The library, with MuJoCo from its Python package where the system's loader does not find it."""
    try:
        return make(lib.tce_env_library_open, file_name(path), None)
    except LibraryError as reason:
        wanted = re.search(r"libmujoco[\w.]*", reason.message)
        mujoco = _mujoco_of_python(wanted[0]) if wanted else None
        if mujoco is None:
            raise
    # the loader takes what is loaded already for what is needed, by its name
    ctypes.CDLL(str(mujoco), mode=ctypes.RTLD_GLOBAL)
    return make(lib.tce_env_library_open, file_name(path), None)


def load_mujoco(tasks: Path) -> None:
    """Loads the MuJoCo of the package mujoco where it is not installed beside this package, whose tasks look for it there alone."""
    package = Path(__file__).resolve().parent
    found = importlib.util.find_spec("mujoco") if tasks.parent == package / "bin" and not (package.parent / "mujoco").exists() else None
    for folder in (found.submodule_search_locations or []) if found else []:
        for library in Path(folder).glob("libmujoco.*"):
            with contextlib.suppress(OSError):  # then the tasks say what they lack
                ctypes.CDLL(str(library))


class TaskLibrary(Handle, Mapping[str, Task]):
    """The tasks of a shared object, by name; by default the project's own. Tasks and environments keep their library loaded.

    A library that needs MuJoCo gets it from the package mujoco (``pip install mujoco``) where the system has none.
    """

    _kind = "env_library"

    def __init__(self, path: Union[str, "os.PathLike[str]", None] = None) -> None:
        super().__init__()
        if path is None:
            path = find_tasks()
            load_mujoco(path)
        self.path = os.fspath(path)
        self._owned = self._own(_open_library(self.path))
        self._arguments = {"path": self.path}

    def __getitem__(self, name: str) -> Task:
        library = self._check_open()
        out = c_void_p()
        try:
            lib.tce_env_library_find(library, text("name", name), byref(out))
        except LookupError:
            near = difflib.get_close_matches(name, self, 3, 0.5) or [other for other in self if name in other][:3]
            hint = f", did you mean {' or '.join(map(repr, near))}?" if near else ";"
            raise KeyError(f"no task {name!r} in {self.path}{hint} list() of the library has all names") from None
        assert out.value is not None
        return Task(out.value, uses=(library,), library_path=os.path.abspath(self.path))

    def __len__(self) -> int:
        return int(lib.tce_env_library_n_tasks(self))

    def __iter__(self) -> Iterator[str]:
        library = self._check_open()  # loaded until the names are copied
        tables = [EnvVtable.from_address(lib.tce_env_library_at(library, i)) for i in range(len(self))]
        return iter([table.name.decode() for table in tables])

    __repr__ = Handle.__repr__
