"""What training accepts as a task: tasks of libraries, environments derived from tce.Env, environments of Gymnasium."""

from __future__ import annotations

import copy
import importlib
import inspect
import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Callable, Dict, List, Mapping, Optional, Sequence, Union

from ._control import Controller
from .env import EnvSpec, Task, TaskLibrary, find_tasks
from .errors import LibraryError, NotFoundError
from .python_env import Env, GymTask, PythonTask, task_name

if TYPE_CHECKING:
    import gymnasium

# what training takes as a task
TaskLike = Union[str, Task, Env, Callable[..., Any], "gymnasium.Env[Any, Any]"]

EXPECTED = (
    "expected the name of one of the project's tasks, a tce.Task, an environment derived from tce.Env or gymnasium.Env (the class, an "
    "instance, or a function that makes one), or the id of a Gymnasium environment")


@dataclass
class Source:
    """A task, and what a run records of it."""

    task: Task
    library: str = ""  # path of its library, unless that is the project's own
    python: str = ""  # module:name of its environment

    @property
    def in_python(self) -> bool:
        return self.task._in_python

    def spec(self, settings: Optional[str] = None) -> EnvSpec:
        with self.task.create(settings) as instance:
            return instance.spec


def import_name(name: str) -> Any:
    """What "module:name" stands for; a name without a colon is the id of a Gymnasium environment."""
    module, colon, path = name.partition(":")
    if not colon:
        return name
    found = importlib.import_module(module)
    for part in path.split("."):
        if not hasattr(found, part):
            raise NotFoundError(-13, "TCE_E_NOT_FOUND", f"{name}: {getattr(found, '__name__', module)} has no {part}")
        found = getattr(found, part)
    return found


def _record(given: Any) -> str:
    """How somebody else would name it: "module:name"."""
    if isinstance(given, str):
        return given
    named = given if hasattr(given, "__qualname__") else type(given)
    return f"{getattr(named, '__module__', '?')}:{getattr(named, '__qualname__', '?')}"


def _is_gymnasium(value: Any) -> bool:
    return hasattr(value, "action_space") and hasattr(value, "observation_space") and callable(getattr(value, "step", None))


def _takes_settings(make: Callable[..., Any]) -> bool:
    """Whether a factory has a positional parameter, which is the text of settings then."""
    try:
        parameters = inspect.signature(make).parameters.values()
    except (TypeError, ValueError):
        return False
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    required = [p for p in parameters if p.kind in positional and p.default is inspect.Parameter.empty]
    return bool(required) or any(p.name == "settings" for p in parameters)


@dataclass
class _Factory:
    """Makes a tce.Env from the text of the settings."""

    make: Callable[..., Env]
    with_settings: bool

    def __call__(self, settings: Optional[str]) -> Env:
        return self.make(settings) if self.with_settings else self.make()


@dataclass
class _Copy:
    """Makes copies of an environment that was not used yet."""

    env: Any

    def __call__(self, settings: Optional[str] = None) -> Any:
        return copy.deepcopy(self.env)


@dataclass
class _Call:
    """Makes a Gymnasium environment."""

    make: Callable[..., Any]

    def __call__(self) -> Any:
        return self.make()


def source_of(
    given: Any, *, controller: Optional[Controller] = None, metrics: Union[Sequence[str], Mapping[str, str]] = (),
    n_steps: Optional[int] = None, dt: Optional[float] = None, episodic: bool = True,
) -> Source:
    """A task from whatever the user has."""
    if isinstance(given, Source):
        return given
    keywords = {"metrics": metrics, "n_steps": n_steps, "dt": dt}
    if isinstance(given, str) and ":" not in given:
        found = _own_task(given)
        if found is not None:
            return found
    elif isinstance(given, str):
        source = source_of(import_name(given), controller=controller, episodic=episodic, metrics=metrics, n_steps=n_steps, dt=dt)
        source.python = given
        return source
    if isinstance(given, Task):
        return _of_task(given, controller)

    record = _record(given)
    if isinstance(given, Env):
        return _of_env(_Copy(given), record, controller)
    if isinstance(given, type) and issubclass(given, Env):
        return _of_env(_Factory(given, _takes_settings(given)), record, controller)
    if isinstance(given, str):
        return _of_gymnasium(given, given, controller, keywords, episodic)
    if _is_gymnasium(given) and not isinstance(given, type):
        spec = getattr(given, "spec", None)  # of one that gymnasium.make has made, in wrappers
        return _of_gymnasium(_Copy(given), record if spec is None else spec.id, controller, keywords, episodic)
    if isinstance(given, type) and _is_gymnasium_class(given):
        return _of_gymnasium(_Call(given), record, controller, keywords, episodic)
    if callable(given):
        return _of_function(given, record, controller, keywords, episodic)
    raise TypeError(f"task: {given!r}, {EXPECTED}")


def _own_task(name: str) -> Optional[Source]:
    """The project's own task of that name, where there is one. Without their library, only what Gymnasium knows can be meant instead."""
    try:
        library = TaskLibrary()
    except (NotFoundError, LibraryError):
        if _gymnasium_knows(name):
            return None
        raise
    return Source(library[name]) if name in library else None


def _gymnasium_knows(identifier: str) -> bool:
    try:
        import gymnasium
    except ImportError:
        return False
    try:
        return gymnasium.spec(identifier) is not None
    except gymnasium.error.Error:
        return False


def _of_task(task: Task, controller: Optional[Controller]) -> Source:
    if controller is not None:
        raise TypeError(f"controller: {task.name} is a tce.Task, which follows paths by itself; a controller goes with a Gymnasium environment")
    if isinstance(task, PythonTask):
        return Source(task, python=_record(task._fresh if inspect.isclass(task._fresh) else task))
    path = task.library_path
    return Source(task, library="" if _is_own(path) else path)


def _is_own(path: str) -> bool:
    try:
        return os.path.samefile(path, find_tasks())
    except (NotFoundError, OSError):
        return False


def _of_env(make: Callable[[Optional[str]], Env], record: str, controller: Optional[Controller]) -> Source:
    if controller is not None:
        raise TypeError("controller: an environment derived from tce.Env follows paths by itself; a controller goes with a Gymnasium environment")
    return Source(PythonTask(make, task_name(record.rpartition(":")[2].rpartition(".")[2])), python=record)


def _is_gymnasium_class(given: type) -> bool:
    try:
        import gymnasium
    except ImportError:
        return False
    return issubclass(given, gymnasium.Env)


def _of_gymnasium(
    make: Union[str, Callable[[], Any]], record: str, controller: Optional[Controller], keywords: Dict[str, Any], episodic: bool,
) -> Source:
    if controller is None and episodic:
        controller = _found_controller(make)
    name = task_name(record if isinstance(make, str) else record.rpartition(":")[2].rpartition(".")[2])
    return Source(GymTask(make, controller=controller, name=name, **keywords), python=record)


def _found_controller(make: Union[str, Callable[[], Any]]) -> Controller:
    import gymnasium

    env = gymnasium.make(make) if isinstance(make, str) else make()
    try:
        return Controller.find(env)
    finally:
        env.close()


def _of_function(
    make: Callable[..., Any], record: str, controller: Optional[Controller], keywords: Dict[str, Any], episodic: bool,
) -> Source:
    """What a function makes is seen when it has made one."""
    with_settings = _takes_settings(make)
    probe = make(None) if with_settings else make()
    if isinstance(probe, Env):
        probe.close()
        return _of_env(_Factory(make, with_settings), record, controller)
    if not _is_gymnasium(probe):
        raise TypeError(f"task: {make!r} returned {probe!r}, {EXPECTED}")
    probe.close()
    return _of_gymnasium(_Call(make), record, controller, keywords, episodic)


def recorded(config: str, key: str) -> str:
    """A text under task in a run's config.yaml; empty where there is none."""
    section = re.search(r"^task:\n((?:  .*\n)*)", config, flags=re.M)
    found = re.search(rf"^  {key}: '((?:[^']|'')*)'", section[1], flags=re.M) if section else None
    return found[1].replace("''", "'") if found else ""


def run_path(run: Union[str, "os.PathLike[str]"]) -> str:
    """The run folder or file that a name stands for, as the program finds it: a path, or a trained policy as task/method-seed."""
    name = os.fspath(run)
    package = Path(__file__).resolve().parent
    folders = [package / "share" / "tce" / "runs"]
    if len(package.parents) > 2:
        folders.append(package.parents[2] / "docs" / "runs")
    if not os.path.exists(name) and name[:1] not in ("/", "."):
        for folder in folders:
            if (folder / name / "config.yaml").is_file():
                return str(folder / name)
    return name


def config_path(config: Union[str, "os.PathLike[str]"]) -> str:
    """The settings file that a name stands for, as the program finds it: a path, or task/method in examples/configs or $TCE_CONFIGS."""
    name = os.fspath(config)
    package = Path(__file__).resolve().parent
    folders = [Path(os.environ["TCE_CONFIGS"])] if os.environ.get("TCE_CONFIGS") else []
    folders += [Path("examples/configs"), package / "share" / "tce" / "configs"]
    if len(package.parents) > 2:
        folders.append(package.parents[2] / "examples" / "configs")
    for place in [Path(name), *(folder / name for folder in folders)]:
        for path in (place, place.with_name(place.name + ".yaml"), place / "tce.yaml"):
            if path.is_file():
                return str(path)
    raise NotFoundError(
        -13, "TCE_E_NOT_FOUND", f"config: no settings file {name}, nor one of that name in {', '.join(map(str, folders))}")
