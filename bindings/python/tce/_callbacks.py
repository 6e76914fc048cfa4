"""Python code that C calls: where its exceptions go, and Ctrl-C, as neither may unwind through C.

An exception ends in the callback, as a status for C. It is kept in the ``Faults`` of the call that is around it, which raises
it again. What is no ``Exception``, such as KeyboardInterrupt and SystemExit, ends that call: no more Python code is started.
"""

from __future__ import annotations

import signal
import threading
from typing import Any, Callable, Dict, List, Optional

from ._library import fail
from .errors import E_ARGUMENT, TceError

try:
    # without conversions to enums, which take longer than a step of many an environment
    import _signal as plain_signal  # type: ignore[import-not-found,unused-ignore]
except ImportError:
    plain_signal = signal  # type: ignore[misc,unused-ignore]


SIGINT = int(signal.SIGINT)


class _Thread(threading.local):
    """Whether this thread is in Python code that C has called, and the call that this happened in."""

    inside = False
    call: Optional["Faults"] = None


_thread = _Thread()


class Faults:
    """What Python code raised during one call of C."""

    def __init__(self) -> None:
        self.causes: List[BaseException] = []
        self.interrupt: Optional[BaseException] = None
        self.begin()

    def begin(self) -> None:
        """The call is made now, by this thread, which may itself be inside another call."""
        self.thread, self.around = threading.get_ident(), _thread.call

    def add(self, fault: BaseException) -> None:
        """Keeps an exception; one that is no ``Exception`` ends the call."""
        if isinstance(fault, Exception):
            self.causes.append(fault)
        elif self.interrupt is None:
            self.interrupt = fault


class Group:
    """The environments of one handle: all of them report to the call of that handle that is under way."""

    def __init__(self) -> None:
        self.faults = Faults()


def user_code(faults: Faults, function: Callable[..., Any], *arguments: Any) -> Any:
    """Calls Python code from a callback of a call. The callback catches every exception."""
    before, call = _thread.inside, _thread.call
    _thread.inside, _thread.call = True, faults
    try:
        return function(*arguments)
    finally:
        _thread.inside, _thread.call = before, call


def in_callback() -> bool:
    """Whether this thread is in Python code that C has called."""
    return _thread.inside


def present_call() -> Optional[Faults]:
    """The call that this thread is inside of, in Python code that C has called."""
    return _thread.call


def waits_for_us(thread: int, inside: Optional[Faults]) -> bool:
    """Whether a thread, being inside some call, made the call that this thread is inside of, directly or through others.

    Then it waits for this one. The same thread may be further inside, at work for that call as this one is: then it does not.
    """
    call = _thread.call
    while call is not None and not (call.thread == thread and call.around is inside):
        call = call.around
    return call is not None


def in_main_thread() -> bool:
    """Whether signals are handled in this thread, which is not inside a callback."""
    return threading.current_thread() is threading.main_thread() and not _thread.inside


class _Handler:
    """Stands in for the handler of SIGINT during a call of C.

    In Python code that C has called, a handler may raise what it likes. Elsewhere, at the edge of a callback, an exception
    would be lost, so it is kept.
    """

    def __init__(self, handler: Callable[..., Any], faults: Faults) -> None:
        self.handler, self.faults = handler, faults

    def __call__(self, number: int, frame: Any) -> None:
        if _thread.inside:
            self.handler(number, frame)
            return
        try:
            self.handler(number, frame)
        except BaseException as fault:
            self.faults.interrupt = fault


class interrupts_kept:
    """Within, Ctrl-C is raised in Python code that C calls, or kept in the faults for the end of the call of C."""

    def __init__(self, faults: Faults) -> None:
        self.faults = faults

    def __enter__(self) -> None:
        self.handler = plain_signal.getsignal(SIGINT) if threading.current_thread() is threading.main_thread() else None
        if callable(self.handler):
            own = self.handler.handler if isinstance(self.handler, _Handler) else self.handler
            self.inside, _thread.inside = _thread.inside, False
            plain_signal.signal(SIGINT, _Handler(own, self.faults))

    def __exit__(self, *unused: Any) -> None:
        if callable(self.handler):
            plain_signal.signal(SIGINT, self.handler)
            _thread.inside = self.inside


def call(group: Group, function: Callable[..., Any], *arguments: Any, faults: Optional[Faults] = None) -> Any:
    """Calls C, with the group's handle locked. An interrupt is raised itself, an exception is the cause of the failure."""
    group.faults = faults = faults or Faults()
    faults.begin()
    failure: Optional[TceError] = None
    result = None
    try:
        with interrupts_kept(faults):
            if faults.interrupt is None:
                try:
                    result = function(*arguments)
                except TceError as reason:
                    failure = reason
    finally:
        group.faults = Faults()
    if faults.interrupt is not None:
        raise faults.interrupt
    if failure is not None:
        raise failure from (faults.causes[0] if faults.causes else None)
    return result


class Chunks:
    """Python code that C calls for each chunk of some work. All chunks run, except after an interrupt, which ends the call."""

    def __init__(self) -> None:
        self.faults = Faults()
        self.raised: Dict[int, BaseException] = {}  # by the chunk's number

    def run(self, number: int, function: Callable[..., Any], *arguments: Any) -> int:
        """From the callback: a status."""
        if self.faults.interrupt is not None:
            return fail(E_ARGUMENT, f"chunk {number} was not started")
        try:
            user_code(self.faults, function, *arguments)
            return 0
        except BaseException as fault:  # nothing may unwind through C
            self.raised[number] = fault
            self.faults.add(fault)
            return fail(E_ARGUMENT, f"chunk {number} failed: {fault!r}")

    def call(self, function: Callable[..., Any], *arguments: Any) -> None:
        """Calls C. An interrupt is raised, or the exception of the chunk with the lowest number."""
        failure: Optional[BaseException] = None
        with interrupts_kept(self.faults):
            try:
                function(*arguments)
            except TceError as reason:
                failure = self.raised[min(self.raised)] if self.raised else reason
        failure = self.faults.interrupt or failure
        if failure is not None:
            raise failure from None


def call_aside(function: Callable[[Faults], Any], stoppable: bool) -> Any:
    """Runs a long call of C in a thread of its own, while this one, the main thread, can be interrupted.

    A stoppable call ends soon after that and is waited for, until a second interrupt. Another one runs to its end, and its
    result is dropped: the exception is raised at once.
    """
    faults = Faults()
    done = threading.Event()
    results: List[Any] = []
    raised: List[BaseException] = []

    def work() -> None:
        try:
            results.append(function(faults))
        except BaseException as fault:
            raised.append(fault)
        finally:
            done.set()

    started = False
    try:
        with interrupts_kept(faults):
            threading.Thread(target=work, name="tce").start()
            started = True
        done.wait()
    except BaseException as fault:
        faults.interrupt = fault
        if started and stoppable:
            done.wait()
        raise
    if raised:
        raise raised.pop()
    return results.pop()
