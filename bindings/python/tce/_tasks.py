"""A task as the trainer's library takes it, with its environments here or in workers."""

from __future__ import annotations

import contextlib
import ctypes
from ctypes import c_void_p
from typing import Optional

from ._arrays import integer
from ._sources import Source
from ._train_declarations import TrainTask
from ._workers import MOST_WORKERS, Workers
from .python_env import PythonTask


def task_of(source: Source, workers: Optional[Workers]) -> TrainTask:
    """A task for C."""
    if workers is not None:
        return workers.task()
    task = TrainTask(struct_size=ctypes.sizeof(TrainTask), one_thread=source.in_python)
    task.point(vtable=c_void_p(source.task._vtable))
    return task


def check_workers(source: Source, n: int) -> None:
    """TypeError for workers of a task whose environments are in C."""
    if n != 0 and not isinstance(source.task, PythonTask):
        raise TypeError(f"workers: the environments of {source.task.name} are in C and run in threads of this process: set run.threads instead")


def start_workers(source: Source, n: int, options: Optional[str]) -> "contextlib.AbstractContextManager[Optional[Workers]]":
    """The workers of a task in Python; none with 0."""
    n = integer("workers", n, 0, MOST_WORKERS)
    check_workers(source, n)
    if n == 0 or not isinstance(source.task, PythonTask):
        return contextlib.nullcontext()
    return Workers(source.task, source.spec(options), n)
