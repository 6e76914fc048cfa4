"""Whether a task keeps its contract: :func:`check_env`."""

from __future__ import annotations

import copy
import random
from ctypes import byref, c_int32
from typing import Any, Callable, Dict, List, Optional, Tuple, Union

import numpy as np

from ._arrays import text
from ._callbacks import Faults, Group, call
from ._declarations import TCE_ENV_FAULT, EnvInspectOptions, EnvReport
from ._handle import struct
from ._library import lib
from .env import Task
from .errors import E_ENV, EnvironmentFault, StateError
from .python_env import Env, PythonTask, task_name


def as_task(task: Union[Task, Env, Callable[[Optional[str]], Env]]) -> Task:
    """A task, or one made from a Python environment or from what makes one."""
    if isinstance(task, Task):
        return task
    if isinstance(task, Env):
        env = task
        return PythonTask(lambda settings: copy.deepcopy(env), task_name(type(env).__name__))
    if callable(task):
        return PythonTask(task, task_name(getattr(task, "__name__", "python")))
    raise TypeError(f"task: {task!r}, expected a tce.Task, a tce.Env, or a function that makes one from its settings")


def _global_generators() -> Dict[str, Any]:
    """The state of the random numbers that everything in this process draws from."""
    name, keys, position, has_gauss, gauss = np.random.get_state()  # type: ignore[misc,unused-ignore]
    return {"np.random": (name, np.asarray(keys).tobytes(), position, has_gauss, gauss), "random": random.getstate()}


def check_env(task: Union[Task, Env, Callable[[Optional[str]], Env]], settings: Optional[str] = None) -> List[str]:
    """Runs a few episodes of a task and raises EnvironmentFault with all that breaks the contract of a task, each with its remedy.

    task      a :class:`tce.Task` (of a TaskLibrary, a PythonTask, a GymTask), a class derived from :class:`tce.Env`, an instance of one
              that was not used yet (copies of it are), or a function that makes one from its settings
    settings  text for the task's create function, "key=value" lines

    Findings that may be intended, such as episodes that all start alike, are returned as a list of sentences. The program ``tce tasks --check`` finds the
    same, except for the global random numbers of Python and numpy, which no environment may draw from.
    """
    task = as_task(task)
    findings: List[Tuple[int, str]] = []

    def report(context: Any, severity: int, message: bytes) -> None:
        findings.append((severity, message.decode(errors="replace")))

    options = struct(EnvInspectOptions)
    options.vtable = task._vtable
    options.settings = None if settings is None else text("settings", settings)
    options.point(report=EnvReport(report))
    n_faults = c_int32()
    group, raised = Group(), Faults()
    generators = _global_generators()
    with task._creating(group):
        call(group, lib.tce_env_inspect, byref(options), None, byref(n_faults), faults=raised)
    if task._in_python:
        findings += [(TCE_ENV_FAULT, (
            f"it draws from the global random numbers of {name}, which no episode's seed sets, so a run cannot be repeated, nor be the same with "
            "other workers: draw from the random that reset gets, or from self.np_random of a Gymnasium environment"))
            for name, state in _global_generators().items() if state != generators[name]]
    # steps that had to be refused are none
    causes = [cause for cause in raised.causes if not isinstance(cause, StateError)]
    faults = [message for severity, message in findings if severity == TCE_ENV_FAULT]
    if faults:
        sentences = "\n".join(f"{task.name}: {message}" for message in faults)
        raise EnvironmentFault(E_ENV, "TCE_E_ENV", sentences) from (causes[0] if causes else None)
    return [message for _, message in findings]
