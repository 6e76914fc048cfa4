"""Environments in Python that run in processes of their own: as many of them at once as there are workers, and the same bytes as here.

A worker is this interpreter again, with one end of a pair of sockets; the factory of the environments travels by cloudpickle. Environment i
lives in worker i mod N. The parent's side is a task in C, so that its threads wait without the interpreter's lock.
"""

from __future__ import annotations

import ctypes
import os
import pickle
import signal
import socket
import struct
import subprocess
import sys
from ctypes import byref, c_char_p, c_void_p
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Dict, List, Optional

import numpy as np

from ._arrays import integer, text
from ._declarations import EnvSpec as EnvSpecStruct
from ._handle import Owned
from ._train_declarations import TrainLayout, TrainTask, TrainWorkersOptions
from ._train_library import trainer
from ._wire import HEAD, SIZES, read
from .env import EnvSpec
from .errors import E_ENV, EnvironmentFault
from .python_env import PythonTask

REMEDY = (
    "an environment that runs in a worker is made there by its factory: define it in a module, open files, locks and simulators in its "
    "__init__, or train with workers=0")


# processes at most
MOST_WORKERS = 4096


class WorkerTraceback(Exception):
    """The traceback of an exception in a worker, as its text."""

    def __str__(self) -> str:
        return f"\n{self.args[0]}"


def raw_spec(spec: EnvSpec) -> EnvSpecStruct:
    """A spec for C, which keeps what it points to."""
    names = (c_char_p * len(spec.metric_names))(*(text("metric_names", name) for name in spec.metric_names))
    pointed: Dict[str, Any] = {
        "metric_names": names, "context": np.array(list(spec.context), np.int32),
        "action_low": np.full(spec.n_action, -np.inf) if spec.action_low is None else np.array(spec.action_low, np.float64).reshape(-1),
        "action_high": np.full(spec.n_action, np.inf) if spec.action_high is None else np.array(spec.action_high, np.float64).reshape(-1)}
    raw = EnvSpecStruct(
        struct_size=ctypes.sizeof(EnvSpecStruct), n_obs=spec.n_obs, n_dof=spec.n_dof, n_action=spec.n_action, n_steps=spec.n_steps,
        n_metrics=len(spec.metric_names), n_context=len(spec.context), dt=spec.dt, carries_state=spec.carries_state, velocity_end=spec.velocity_end)
    raw.point(**{entry: array if len(array) else None for entry, array in pointed.items()})
    return raw


class Workers:
    """N processes with the environments of a task. A context: they end with it."""

    def __init__(self, task: PythonTask, spec: EnvSpec, n: int) -> None:
        integer("workers", n, 1, MOST_WORKERS)
        try:
            import cloudpickle  # type: ignore[import-untyped,unused-ignore]
        except ImportError:
            raise ImportError("workers need the package cloudpickle, which comes with Gymnasium: pip install cloudpickle, or train with workers=0") from None
        self.spec = raw_spec(spec)
        layout = TrainLayout(struct_size=ctypes.sizeof(TrainLayout))
        trainer().tce_train_layout_of(byref(self.spec), spec.n_state, byref(layout))
        places = SimpleNamespace(**{name: getattr(layout, name) for name, *_ in layout._fields_})
        sizes = {"n_state": spec.n_state, **{name: getattr(self.spec, name) for name in SIZES}}
        try:
            payload = cloudpickle.dumps((task._fresh, sizes, places))
        except Exception as reason:
            raise TypeError(f"the factory of {task.name} cannot be sent to a worker: {reason}; {REMEDY}") from reason
        message = pickle.dumps((sys.path, payload))
        self.processes: List["subprocess.Popen[bytes]"] = []
        sockets: List[socket.socket] = []
        try:
            for _ in range(n):
                sockets.append(self._start())
            for number, connection in enumerate(sockets):
                self._greet(number, connection, message)
            options = TrainWorkersOptions(struct_size=ctypes.sizeof(TrainWorkersOptions), name=text("name", task.name), n_state=spec.n_state, n_workers=n)
            options.point(
                spec=byref(self.spec), sockets=np.array([one.detach() for one in sockets], np.int32),
                processes=np.array([process.pid for process in self.processes], np.int32))
        except BaseException:
            for connection in sockets:
                connection.close()
            self._reap()
            raise
        handle = c_void_p()
        trainer().tce_train_workers_create(byref(options), byref(handle))
        assert handle.value is not None
        self._handle: Optional[Owned] = Owned(handle.value, trainer().tce_train_workers_free, keep=self.spec)

    def _start(self) -> socket.socket:
        here, there = socket.socketpair()
        before = os.environ.get("PYTHONPATH")
        package = str(Path(__file__).resolve().parents[1])
        environment = {**os.environ, "PYTHONPATH": package + (os.pathsep + before if before else "")}
        # Ctrl-C is this process's: a worker that is still loading modules has not said yet that it ignores it
        mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            with there:
                self.processes.append(subprocess.Popen(
                    [sys.executable, "-m", "tce._worker", str(there.fileno())], pass_fds=[there.fileno()], stdin=subprocess.DEVNULL, env=environment))
        except BaseException:
            here.close()
            raise
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        return here

    def _greet(self, number: int, connection: socket.socket, message: bytes) -> None:
        """Sends the factory and waits until the worker has it."""
        answer = None
        try:
            connection.sendall(struct.pack("=q", len(message)) + message)
            answer = read(connection, HEAD.size)
        except OSError:
            pass
        if answer is None:
            code = self.processes[number].wait()
            raise EnvironmentFault(E_ENV, "TCE_E_ENV", f"worker {number} of the environments ended with exit status {code} before it began; {REMEDY}")
        _, status, _, size = HEAD.unpack(answer)
        if status != 0:
            said, _, lines = (read(connection, size) or b"").decode(errors="replace").partition("\0")
            raise EnvironmentFault(
                E_ENV, "TCE_E_ENV", f"the factory of the environments does not work in a worker: {said}; {REMEDY}") from WorkerTraceback(lines)

    def task(self) -> TrainTask:
        out = TrainTask(struct_size=ctypes.sizeof(TrainTask))
        trainer().tce_train_workers_task(self._handle, byref(out))
        return out

    @property
    def handle(self) -> Owned:
        """What a run holds that may outlive this context."""
        assert self._handle is not None
        return self._handle

    def _reap(self) -> None:
        for process in self.processes:
            try:
                process.wait(timeout=5)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

    def __enter__(self) -> "Workers":
        return self

    def __exit__(self, kind: Any, fault: Any, lines: Any) -> None:
        # what was made with the task is freed before: then the connections end, and with them the processes. After a failure a call of C may
        # still wait for them
        said = trainer().tce_train_workers_traceback(self._handle).decode(errors="replace")
        if kind is not None:
            for process in self.processes:
                process.kill()
        self._handle = None
        self._reap()
        if isinstance(fault, EnvironmentFault) and fault.__cause__ is None and said:
            fault.__cause__ = WorkerTraceback(said)
