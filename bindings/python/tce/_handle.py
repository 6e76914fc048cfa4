"""What all handles share: life time, options from keywords, one thread at a time."""

from __future__ import annotations

import contextlib
import copy
import ctypes
import difflib
import functools
import inspect
from ctypes import byref, c_double, c_int32, c_uint64, c_void_p
from typing import Any, Callable, ContextManager, Dict, Iterable, Iterator, Optional, Tuple, Type, TypeVar, cast

import numpy as np

from ._arrays import integer, number
from ._callbacks import in_callback
from ._choices import FIELDS as CHOICES
from ._choices import choice
from ._library import lib
from ._locks import Gate, Turn
from ._pointers import AnyStruct, Struct

RANGES = {c_int32: (-(2**31), 2**31 - 1), c_uint64: (0, 2**64 - 1)}

Self = TypeVar("Self", bound="Handle")
Init = TypeVar("Init", bound=Callable[..., None])
AnyFunction = TypeVar("AnyFunction", bound=Callable[..., Any])


class Owned(c_void_p):
    """The address of a C handle, which is freed when nothing uses it any more.

    Three things use it: the Python object that has this one, calls under way, whose arguments ctypes holds, and other
    C handles, which count here. A count is needed because the garbage collector ends the objects of a cycle in any order.
    """

    def __init__(
        self, address: int, free: Callable[[Any], Any], uses: Tuple["Owned", ...] = (), keep: Any = None
    ) -> None:
        super().__init__(address)
        self._free, self._uses, self._keep = free, uses, keep
        # one entry for each user; of threads that pop at once, exactly one gets the lowest
        self._users = ["this object"]
        for used in uses:
            used._users.append("a handle")

    def _release(self) -> None:
        if self._users.pop() == "this object":
            self._free(self.value)
            for used in self._uses:
                used._release()

    def __del__(self) -> None:
        if hasattr(self, "_users"):
            self._release()

    def __reduce_ex__(self, protocol: Any) -> Any:
        # a second owner would free it a second time
        raise TypeError("a handle of the C library cannot be copied or pickled: make what has it again where it is needed")


@contextlib.contextmanager
def both(first: Gate, second: Gate) -> Iterator[None]:
    with first, second:
        yield


class Handle:
    """A C handle: freed by ``close()``, by leaving a ``with`` block, or with the last reference.

    Calls that write into the handle take its lock, so that Python threads may share it; calls that only
    read it may overlap. What another handle or a call under way still uses is freed after that.
    """

    _kind = ""  # of the C functions: tce_<kind>_create, tce_<kind>_free
    _owned: Optional[Owned] = None
    _uses: Tuple[Owned, ...] = ()
    _keep: Any = None  # Python objects that the C handle points to
    _gate: Optional[Gate] = None  # of the pool

    def __init__(self, address: Optional[int] = None, uses: Iterable[Owned] = ()) -> None:
        self._own_lock = Turn(type(self).__name__)
        self._uses = tuple(uses)
        self._owned = None if address is None else self._own(address)

    def _use(self, *others: Optional["Handle"]) -> None:
        """C handles made for this object from now on use those of the others."""
        for other in others:
            if other is not None:
                self._uses += (other._check_open(),)
                self._gate = other._gate or self._gate

    @property
    def _lock(self) -> ContextManager[Any]:
        """To hold during a call that writes into the handle.

        C waits while the pool serves another thread. A thread waits for that here, before it takes the handle, which the work on
        the pool may need. In a callback C does not wait.
        """
        return self._own_lock if self._gate is None or in_callback() else both(self._gate, self._own_lock)

    def _own(self, address: int) -> Owned:
        """A C handle for this object."""
        return Owned(address, self._function("free"), self._uses, self._keep)

    def _function(self, name: str) -> Callable[..., Any]:
        """One of the C functions of this kind of handle."""
        function: Callable[..., Any] = getattr(lib, f"tce_{self._kind}_{name}")
        return function

    @property
    def _title(self) -> str:
        return type(self).__name__

    # ---- as text, and as a copy ---------------------------------------------------------------------------

    _arguments: Optional[Dict[str, Any]] = None  # of the constructor, as they were given

    def _shown(self) -> Dict[str, Any]:
        """What :func:`repr` names."""
        return self._arguments or {}

    def __repr__(self) -> str:
        words = [f"{name}={brief(value)}" for name, value in self._shown().items()]
        return f"{type(self).__name__}({', '.join(words + (['closed'] if self._owned is None else []))})"

    def _content(self) -> Any:
        """What there is beside the arguments, for :meth:`_restore`; None: nothing."""
        return None

    def _restore(self, content: Any) -> None:
        """Takes the content of another handle with the same arguments."""

    def _check_open(self) -> Owned:
        """The C handle; ValueError when it is closed."""
        owned = self._owned
        if owned is None:
            raise ValueError(f"{self._title} is closed")
        return owned

    _as_parameter_ = property(_check_open)

    def close(self) -> None:
        """Frees the C handle, now or as soon as nothing uses it any more. Calling it again does nothing."""
        self._owned = None

    def __enter__(self: Self) -> Self:
        return self

    def __exit__(self, *unused: Any) -> None:
        self.close()

    def __reduce_ex__(self, protocol: Any) -> Any:
        self._check_open()
        if self._arguments is None:
            raise TypeError(
                f"{self._title} cannot be copied or pickled: it is a handle of the C library. Make another one with the same arguments.")
        return remade, (type(self), self._arguments, self._content())


def remade(kind: Type[Self], arguments: Dict[str, Any], content: Any) -> Self:
    """A handle that was pickled or copied."""
    handle = kind(**arguments)
    if content is not None:
        handle._restore(content)
    return handle


def brief(value: Any) -> str:
    """A value in one line: of arrays, those that are not short by their shape."""
    if isinstance(value, np.generic):
        return repr(value.item())
    if isinstance(value, np.ndarray):
        return repr(value.tolist()) if value.size <= 8 else f"<array {list(value.shape)}>"
    if isinstance(value, (list, tuple)) and len(value) > 8:
        return f"<{type(value).__name__} of {len(value)}>"
    return repr(value)


def hinted(function: AnyFunction) -> AnyFunction:
    """A method that names the nearest keyword for a wrong one."""
    names = list(inspect.signature(function).parameters)[1:]

    @functools.wraps(function)
    def call(self: Any, *arguments: Any, **keywords: Any) -> Any:
        unknown(function.__name__, keywords, names)
        return function(self, *arguments, **keywords)

    return cast(AnyFunction, call)


def constructor(function: Init) -> Init:
    """An ``__init__`` that keeps its arguments, for texts and copies, and names the nearest keyword for a wrong one.

    Random sources are left out: what was drawn from them is content.
    """
    signature = inspect.signature(function)
    names = list(signature.parameters)[1:]

    @functools.wraps(function)
    def init(self: Any, *arguments: Any, **keywords: Any) -> None:
        unknown(type(self).__name__, keywords, names)
        function(self, *arguments, **keywords)
        given = {**dict(zip(names, arguments)), **keywords}
        given.pop("random", None)
        self._arguments = {name: copy.copy(value) if isinstance(value, (np.ndarray, list)) else value for name, value in given.items()}

    return cast(Init, init)


class Growing(Handle):
    """A handle whose C handle has room for a number of rows, and is recreated for a larger batch or with other options."""

    _room = "max_batch"  # the option that says how many rows

    def __init__(self, options: Any, *uses: Optional[Handle]) -> None:
        super().__init__()
        self._use(*uses)
        self._options = options
        self._owned = self._make(options)

    def _make(self, options: Any) -> Owned:
        """A C handle with these options, which continues where the present one is."""
        return self._own(make(self._function("create"), byref(options), None))

    def _require(self, n: int, **others: int) -> None:
        """Room for n rows and these other options, with the lock held. When a new C handle cannot be made the present one stays."""
        present = self._check_open()
        options = self._options
        room = getattr(options, self._room)
        for name, value in others.items():
            if getattr(options, name) != value:
                break
        else:
            if n <= room:
                return
        options = self._options.changed(**{self._room: max(n, room)}, **others)
        fresh = self._make(options)
        if self._owned is present:  # else it was closed meanwhile
            self._owned, self._options = fresh, options


def make(function: Callable[..., Any], *arguments: Any) -> int:
    """Calls a create function, whose last argument is where the handle goes."""
    out = c_void_p()
    function(*arguments, byref(out))
    assert out.value is not None
    return out.value


@functools.lru_cache(maxsize=None)
def _defaults(kind: Type[Struct]) -> bytes:
    """A struct as the library's init function leaves it, if there is one (else all is 0), whose size the library has confirmed."""
    value = kind(struct_size=ctypes.sizeof(kind))
    init = getattr(lib, f"{kind._name_}_init", None)
    if init is not None:
        init(byref(value), ctypes.sizeof(value))
    if value.struct_size != ctypes.sizeof(value):
        raise RuntimeError(
            f"{kind.__name__}: the library says {value.struct_size} bytes, this package {ctypes.sizeof(value)}")
    return bytes(value)


def struct(kind: Type[AnyStruct]) -> AnyStruct:
    """A struct with the library's defaults."""
    return kind.from_buffer_copy(_defaults(kind))


def unknown(what: str, given: Iterable[str], allowed: Iterable[str]) -> None:
    """TypeError for the first keyword that is not allowed, with the nearest one that is."""
    names = list(allowed)
    for name in given:
        if name not in names:
            near = difflib.get_close_matches(name, names, 1, 0.5)
            hint = f"; did you mean {near[0]!r}?" if near else f"; there are {', '.join(sorted(names))}"
            raise TypeError(f"{what}: unexpected keyword {name!r}{hint}")


def fill(options: Struct, values: Dict[str, Any]) -> None:
    """Puts numbers and the names of choices into the fields of a struct, checked against each field's type; None keeps the default."""
    types: Dict[str, Any] = {field[0]: field[1] for field in options._fields_}
    choices = CHOICES.get(type(options), {})
    for name, value in values.items():
        if value is None:
            continue
        if name in choices:
            setattr(options, name, choice(name, value, choices[name]))
        elif types[name] is c_double:
            setattr(options, name, number(name, value))
        else:
            setattr(options, name, integer(name, value, *RANGES[types[name]]))
