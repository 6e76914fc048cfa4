"""Statuses of the C library as exceptions. Each carries the number, its name and the message."""

from __future__ import annotations

from typing import Dict, Tuple, Type

OK = 0
E_ARGUMENT, E_SHAPE, E_VALUE, E_VERSION, E_STATE, E_UNSUPPORTED = -1, -2, -3, -4, -5, -6
E_NOMEM, E_IO, E_CORRUPT, E_NOT_FOUND, E_THREAD = -10, -11, -12, -13, -14
E_NOT_PD, E_NO_CONVERGE, E_NOT_FINITE, E_SINGULAR = -20, -21, -22, -23
E_ENV, E_ENV_NAN, E_LIBRARY = -30, -31, -32


class TceError(Exception):
    """A call into libtce failed.

    ``status`` is the number (``-20``), ``name`` its name (``"TCE_E_NOT_PD"``) and ``message`` what
    the library said: which argument, its value and its limit.
    """

    def __init__(self, status: int, name: str, message: str) -> None:
        super().__init__(f"{message} [{name}]" if message else name)
        self.status = status
        self.name = name
        self.message = message

    def __reduce__(self) -> Tuple[Type[TceError], Tuple[int, str, str]]:
        return type(self), (self.status, self.name, self.message)


class ArgumentError(TceError, ValueError):
    """An argument is missing, has the wrong size or is out of range."""


class UnsupportedError(ArgumentError):
    """A combination of options that has no meaning."""


class VersionError(ArgumentError):
    """A struct, file or library from another version."""


class StateError(TceError, RuntimeError):
    """A call out of order, such as backward before forward."""


class OutOfMemoryError(TceError, MemoryError):
    """The library could not get memory."""


class FileError(TceError, OSError):
    """The system refused to read or write a file."""


class CorruptError(TceError, ValueError):
    """A file is damaged or is not what it claims to be."""


class NotFoundError(TceError, LookupError):
    """No such file, array, task or symbol."""


class ThreadError(TceError, RuntimeError):
    """A thread could not be started."""


class NumericalError(TceError, ArithmeticError):
    """Not positive definite, singular, not finite, or an iteration that gave up."""


class EnvironmentFault(TceError, RuntimeError):
    """An environment failed. ``__cause__`` is the Python exception where there was one."""


class LibraryError(TceError, OSError):
    """A task library could not be loaded."""


_CLASSES: Dict[int, Type[TceError]] = {
    E_ARGUMENT: ArgumentError,
    E_SHAPE: ArgumentError,
    E_VALUE: ArgumentError,
    E_VERSION: VersionError,
    E_STATE: StateError,
    E_UNSUPPORTED: UnsupportedError,
    E_NOMEM: OutOfMemoryError,
    E_IO: FileError,
    E_CORRUPT: CorruptError,
    E_NOT_FOUND: NotFoundError,
    E_THREAD: ThreadError,
    E_NOT_PD: NumericalError,
    E_NO_CONVERGE: NumericalError,
    E_NOT_FINITE: NumericalError,
    E_SINGULAR: NumericalError,
    E_ENV: EnvironmentFault,
    E_ENV_NAN: EnvironmentFault,
    E_LIBRARY: LibraryError,
}


def error(status: int, name: str, message: str) -> TceError:
    """The exception for a status."""
    return _CLASSES.get(status, TceError)(status, name, message)
