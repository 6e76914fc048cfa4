"""A process that has environments: ``python -m tce._worker DESCRIPTOR``, started by ``_workers``.

It gets a factory, then requests, which it answers one after the other until the connection ends. Arrays are read and written where both
processes have them.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import pickle
import signal
import socket
import struct
import sys
import traceback
from ctypes import addressof, c_char, c_void_p
from typing import Any, Dict, Optional, Tuple

from ._declarations import EnvResult
from ._declarations import EnvSpec as EnvSpecStruct
from ._train_declarations import (
    TCE_TRAIN_ASK_ACTION, TCE_TRAIN_ASK_CREATE, TCE_TRAIN_ASK_DESTROY, TCE_TRAIN_ASK_GET_STATE, TCE_TRAIN_ASK_METRICS, TCE_TRAIN_ASK_RESET,
    TCE_TRAIN_ASK_SET_STATE, TCE_TRAIN_ASK_STEP)
from ._wire import HEAD, TEXT_LIMIT, read
from .errors import E_ENV, E_UNSUPPORTED, TceError

PR_SET_PDEATHSIG = 1
# a signal that nobody else uses
PARENT_GONE = int(signal.SIGRTMIN) + 5 if sys.platform.startswith("linux") else 0
# seconds for environments to be closed after the parent has gone
CLOSING = 5


def read_request(connection: socket.socket) -> Optional[Tuple[Tuple[int, ...], int]]:
    """A request and the descriptor that came with it, or -1."""
    try:
        data, files, _, _ = socket.recv_fds(connection, HEAD.size, 1)
    except OSError:
        return None
    rest = read(connection, HEAD.size - len(data)) if data else None
    if rest is None:
        return None
    return HEAD.unpack(data + rest), files[0] if files else -1


def described(fault: BaseException) -> Tuple[int, bytes]:
    """The status of an exception, and its text: the message, a 0 and the traceback."""
    if isinstance(fault, NotImplementedError):
        status, message = E_UNSUPPORTED, str(fault)
    elif isinstance(fault, TceError):
        status, message = fault.status, fault.message
    else:
        status, message = E_ENV, traceback.format_exception_only(type(fault), fault)[-1].strip()
    lines = "".join(traceback.format_exception(type(fault), fault, fault.__traceback__))
    said = message.replace("\0", " ").encode("utf-8", "replace")[:4000]
    return status, said + b"\0" + lines.replace("\0", " ").encode("utf-8", "replace")[:TEXT_LIMIT - 4001]


class Place:
    """An environment and the memory that it shares with the parent."""

    def __init__(self, task: Any, number: int, memory: mmap.mmap, layout: Any) -> None:
        self.task, self.number, self.memory = task, number, memory
        base = addressof(c_char.from_buffer(memory))
        self.at = {name: base + getattr(layout, name) for name in ("random", "pos", "vel", "action", "obs", "results", "metrics", "state")}
        self.spec = task._live[number].spec

    def reset(self) -> None:
        at = self.at
        self.task._on_reset(self.number, at["random"], at["obs"], at["pos"], at["vel"])

    def result(self, t: int) -> int:
        return int(self.at["results"]) + t * ctypes.sizeof(EnvResult)

    def step(self, steps: int, action: bool, taken: "list[int]") -> None:
        """Along the path, or once with a raw action, until the episode ends. taken: a number for each step that succeeded."""
        at, doubles = self.at, ctypes.sizeof(ctypes.c_double)
        for t in range(steps):
            result = EnvResult.from_address(self.result(t))
            if t > 0:
                result.event = EnvResult.from_address(self.result(t - 1)).event
            obs = at["obs"] + t * self.spec.n_obs * doubles
            if action:
                self.task._on_step_action(self.number, at["action"], obs, self.result(t))
            else:
                row = t * self.spec.n_dof * doubles
                self.task._on_step(self.number, at["pos"] + row, at["vel"] + row, obs, self.result(t))
            taken.append(t)
            if result.terminated or result.truncated:
                break
        if self.spec.metric_names:
            self.metrics()

    def metrics(self) -> None:
        self.task._on_metrics(self.number, self.at["metrics"])

    def get_state(self) -> None:
        self.task._on_get_state(self.number, self.at["state"])

    def set_state(self) -> None:
        self.task._on_set_state(self.number, self.at["state"], self.at["obs"])

    def close(self) -> None:
        self.task._on_destroy(self.number)


class Worker:
    def __init__(self, connection: socket.socket, factory: Any, sizes: Dict[str, int], layout: Any) -> None:
        from .python_env import PythonTask

        self.connection, self.layout, self.sizes = connection, layout, sizes
        self.task = PythonTask(factory, "worker")
        self.places: Dict[int, Place] = {}

    def create(self, number: int, settings: Optional[bytes], file: int) -> None:
        out = c_void_p()
        self.task._on_create(None, settings, addressof(out))
        made = int(out.value or 0)
        raw: EnvSpecStruct = self.task._live[made].raw
        found = {name: self.task._on_n_state(made) if name == "n_state" else getattr(raw, name) for name in self.sizes}
        for name, size in self.sizes.items():
            if found[name] != size:
                raise ValueError(f"an environment has {name} = {found[name]}, the first one had {size}: all must be alike")
        memory = mmap.mmap(file, self.layout.size)
        self.places[number] = Place(self.task, made, memory, self.layout)

    def answer(self, request: Tuple[int, ...], file: int) -> bytes:
        what, number, steps, _ = request
        taken: "list[int]" = []
        status, text = 0, b""
        try:
            if what == TCE_TRAIN_ASK_CREATE:
                settings = read(self.connection, request[3]) if request[3] else None
                self.create(number, settings, file)
            elif what == TCE_TRAIN_ASK_DESTROY:
                place = self.places.pop(number, None)
                if place is not None:
                    place.close()
            elif what == TCE_TRAIN_ASK_RESET:
                self.places[number].reset()
            elif what in (TCE_TRAIN_ASK_STEP, TCE_TRAIN_ASK_ACTION):
                self.places[number].step(steps, what == TCE_TRAIN_ASK_ACTION, taken)
            elif what == TCE_TRAIN_ASK_METRICS:
                self.places[number].metrics()
            elif what == TCE_TRAIN_ASK_GET_STATE:
                self.places[number].get_state()
            elif what == TCE_TRAIN_ASK_SET_STATE:
                self.places[number].set_state()
        except Exception as fault:
            status, text = described(fault)
        finally:
            if file >= 0:
                os.close(file)
        return HEAD.pack(number, status, len(taken), len(text)) + text

    def serve(self) -> None:
        while True:
            found = read_request(self.connection)
            if found is None:
                return
            try:
                self.connection.sendall(self.answer(*found))
            except OSError:
                return


def leave(number: int, frame: Any) -> None:
    """The parent has gone: an environment that waits or loops is left, and has some seconds to be closed."""
    signal.signal(number, signal.SIG_IGN)
    signal.alarm(CLOSING)
    sys.exit(1)


def follow_parent() -> None:
    """Ends this process with its parent, where the system tells, also in the middle of an environment that never returns."""
    if sys.platform.startswith("linux"):
        signal.signal(PARENT_GONE, leave)
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, PARENT_GONE)


def main() -> int:
    # Ctrl-C is the parent's: it ends the run, and with it the connection
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    follow_parent()
    try:
        return work(socket.socket(fileno=int(sys.argv[1])))
    except BrokenPipeError:  # the parent has gone
        return 1


def work(connection: socket.socket) -> int:
    """Gets the factory and answers requests until the connection ends."""
    head = read(connection, 8)
    if head is None:
        return 1
    sent = read(connection, struct.unpack("=q", head)[0])
    if sent is None:
        return 1
    try:
        path, rest = pickle.loads(sent)
        sys.path[:] = path
        import cloudpickle  # type: ignore[import-untyped,unused-ignore]

        factory, sizes, layout = cloudpickle.loads(rest)
        worker = Worker(connection, factory, sizes, layout)
    except BaseException as fault:
        _, text = described(fault)
        connection.sendall(HEAD.pack(0, E_ENV, 0, len(text)) + text)
        return 1
    connection.sendall(HEAD.pack(0, 0, 0, 0))
    try:
        worker.serve()
    finally:
        for place in worker.places.values():
            place.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
