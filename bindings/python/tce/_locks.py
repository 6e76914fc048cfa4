"""Locks of handles and pools that cannot lock up: not by a call from inside another one, nor in a forked child."""

from __future__ import annotations

import os
import threading
import weakref
from typing import Any, Optional

from ._callbacks import Faults, present_call, waits_for_us
from .errors import E_STATE, error

_locks: "weakref.WeakSet[Gate]" = weakref.WeakSet()


class Gate:
    """One thread at a time; a thread that has passed may pass again, as a signal handler does that interrupts a call."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._owner: Optional[int] = None
        self._inside: Optional[Faults] = None  # the call that the owner was inside of
        self._depth = 0
        _locks.add(self)

    def __enter__(self) -> None:
        self._lock.acquire()
        self._depth += 1
        self._inside = present_call()
        self._owner = threading.get_ident()

    def __exit__(self, *unused: Any) -> None:
        if not self._owned():
            return  # a handler of a signal has used the handle in between, and taken this turn for an abandoned one
        self._depth -= 1
        if self._depth <= 0:
            self._owner, self._depth = None, 0
        self._lock.release()

    def _owned(self) -> bool:
        owned: bool = self._lock._is_owned()  # type: ignore[attr-defined]  # as threading.Condition asks
        return owned

    def _forked(self) -> None:
        """In a child there is no other thread that could ever leave."""
        if self._owner != threading.get_ident():
            self._lock, self._owner, self._depth = threading.RLock(), None, 0


class Turn(Gate):
    """One call at a time of a handle. A call from inside another one of the same handle is an error, where it would wait for itself."""

    def __init__(self, title: str) -> None:
        super().__init__()
        self._title, self._lost = title, False

    def __enter__(self) -> None:
        if self._owner is None and not self._lost and not self._owned():
            super().__enter__()
            return
        if self._owned() and (self._owner is None or self._inside is present_call()):
            self._abandon()
        owner = self._owner
        if owner is not None and (owner == threading.get_ident() or waits_for_us(owner, self._inside)):
            self._refuse("is busy with the call that this one comes from: use another handle inside an environment or a callback")
        if self._lost:
            self._refuse("was in use by another thread when this process was forked: make a new one in the child")
        super().__enter__()

    def _abandon(self) -> None:
        """Ends a turn of this thread that Ctrl-C has cut off between Python and C: no call of it is under way."""
        self._owner, self._depth = None, 0
        while self._owned():
            self._lock.release()

    def _forked(self) -> None:
        self._lost = self._lost or self._owner not in (None, threading.get_ident())
        super()._forked()

    def _refuse(self, reason: str) -> None:
        raise error(E_STATE, "TCE_E_STATE", f"{self._title} {reason}")


def _after_fork() -> None:
    for lock in list(_locks):
        lock._forked()


os.register_at_fork(after_in_child=_after_fork)
