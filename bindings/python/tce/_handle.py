"""What all handles share: life time, options from keywords, one thread at a time."""

from __future__ import annotations

import ctypes
import difflib
import threading
from ctypes import byref, c_void_p
from typing import Any, Callable, Dict, Iterable, Optional, Type, TypeVar

from ._arrays import integer, number
from ._library import Struct, lib

INT32_MIN, INT32_MAX = -(2**31), 2**31 - 1

Self = TypeVar("Self", bound="Handle")
AnyStruct = TypeVar("AnyStruct", bound=Struct)


class Handle:
    """A C handle: freed by ``close()``, by leaving a ``with`` block, or with the last reference.

    Calls that write into the handle take its lock, so that Python threads may share it; calls that only
    read it may overlap.
    """

    _free: str = ""

    def __init__(self, pointer: Optional[int] = None) -> None:
        self._pointer = pointer
        self._lock = threading.Lock()

    @property
    def _as_parameter_(self) -> c_void_p:
        if not getattr(self, "_pointer", None):
            raise ValueError(f"{type(self).__name__} is closed")
        return c_void_p(self._pointer)

    def close(self) -> None:
        """Frees the C handle. Calling it again does nothing."""
        pointer, self._pointer = getattr(self, "_pointer", None), None
        if pointer:
            getattr(lib, self._free)(pointer)

    def __enter__(self: Self) -> Self:
        return self

    def __exit__(self, *unused: Any) -> None:
        self.close()

    def __del__(self) -> None:
        try:
            self.close()
        except Exception:  # the interpreter is going down
            pass


def make(function: Callable[..., Any], *arguments: Any) -> int:
    """Calls a create function, whose last argument is where the handle goes."""
    out = c_void_p()
    function(*arguments, byref(out))
    assert out.value is not None
    return out.value


def struct(kind: Type[AnyStruct], init: Callable[..., Any]) -> AnyStruct:
    """A struct with the library's defaults, whose size the library has confirmed."""
    value = kind()
    init(byref(value), ctypes.sizeof(value))
    if value.struct_size != ctypes.sizeof(value):
        raise RuntimeError(
            f"{kind.__name__}: the library says {value.struct_size} bytes, this package {ctypes.sizeof(value)}")
    return value


def unknown(what: str, given: Iterable[str], allowed: Iterable[str]) -> None:
    """TypeError for the first keyword that is not allowed, with the nearest one that is."""
    names = list(allowed)
    for name in given:
        if name not in names:
            near = difflib.get_close_matches(name, names, 1, 0.5)
            hint = f"; did you mean {near[0]!r}?" if near else f"; there are {', '.join(sorted(names))}"
            raise TypeError(f"{what}: unexpected keyword {name!r}{hint}")


def fill(options: Struct, values: Dict[str, Any]) -> None:
    """Puts numbers into the fields of a struct, checked against each field's type; None keeps the default."""
    types: Dict[str, Any] = {field[0]: field[1] for field in options._fields_}
    for name, value in values.items():
        if value is None:
            continue
        if types[name] is ctypes.c_double:
            setattr(options, name, number(name, value))
        elif types[name] is ctypes.c_int32:
            setattr(options, name, integer(name, value, INT32_MIN, INT32_MAX))
        else:
            setattr(options, name, value)
