"""Arrays across the border: C-contiguous float64 goes through without a copy, the rest is converted.

A shape is written as letters: "E T D" for three axes, "E 2" with a fixed number. ``Shapes`` remembers
what each letter stands for, so that arrays of one call must fit each other.
"""

from __future__ import annotations

import functools
import os
from typing import Any, Dict, Optional, Tuple, Union

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
AnyArray = NDArray[Any]


def _convert(name: str, value: Any, dtype: Any) -> AnyArray:
    """A C-contiguous, aligned array of that type; the same object where it is one already."""
    array = np.asarray(value)
    if array.dtype.kind not in "fiub":
        raise ValueError(f"{name}: an array of {array.dtype}, expected numbers")
    return np.require(array, dtype, ["C", "A"])


class Shapes:
    """What the letters of the shapes in one call stand for."""

    def __init__(self, **known: int) -> None:
        self.known: Dict[str, int] = dict(known)

    def __getitem__(self, letter: str) -> int:
        return self.known[letter]

    def _fit(self, actual: Tuple[int, ...], shape: str) -> Optional[Dict[str, int]]:
        """The letters after matching, or None when the array does not fit."""
        axes = shape.split()
        if len(axes) != len(actual):
            return None
        known = dict(self.known)
        for axis, size in zip(axes, actual):
            expected = int(axis) if axis.isdigit() else known.setdefault(axis, size)
            if expected != size:
                return None
        return known

    def _text(self, shape: str) -> str:
        axes = [f"{a}={self.known[a]}" if a in self.known else a for a in shape.split()]
        return "[" + ", ".join(axes) + "]"

    def match(self, name: str, array: AnyArray, *shapes: str) -> int:
        """Which of the shapes the array has (their number); remembers its letters."""
        for number, shape in enumerate(shapes):
            known = self._fit(array.shape, shape)
            if known is not None:
                self.known = known
                return number
        expected = " or ".join(self._text(shape) for shape in shapes)
        raise ValueError(f"{name}: shape {list(array.shape)}, expected {expected}")

    def array(self, name: str, value: Any, *shapes: str) -> Array:
        """The value as float64 in one of the shapes."""
        array = _convert(name, value, np.float64)
        self.match(name, array, *shapes)
        return array

    def finite(self, name: str, value: Any, *shapes: str) -> Array:
        """The same; NaN and infinity are refused."""
        array = self.array(name, value, *shapes)
        wrong = np.flatnonzero(~np.isfinite(array))
        if wrong.size:
            raise ValueError(f"{name}: entry {wrong[0]} is {array.flat[wrong[0]]}, expected finite numbers")
        return array

    def optional(self, name: str, value: Any, *shapes: str) -> Optional[Array]:
        """The same; None stays None."""
        return None if value is None else self.array(name, value, *shapes)

    def integers(self, name: str, value: Any, shape: str) -> NDArray[np.int32]:
        """The value as int32; a fraction or a number out of range is refused."""
        array = np.asarray(value)
        if array.dtype.kind not in "fiub":
            raise ValueError(f"{name}: an array of {array.dtype}, expected integers")
        if array.dtype != np.int32:
            with np.errstate(invalid="ignore"):
                converted = array.astype(np.int32)
            if not np.array_equal(converted, array):
                raise ValueError(f"{name}: not all entries are 32-bit integers")
            array = converted
        array = np.require(array, np.int32, ["C", "A"])
        self.match(name, array, shape)
        return array

    def flags(self, name: str, value: Any, shape: str) -> NDArray[np.uint8]:
        """The value as 0 and 1; arrays of bool or uint8 go through without a copy."""
        array = np.asarray(value)
        if array.dtype.kind not in "fiub":
            raise ValueError(f"{name}: an array of {array.dtype}, expected booleans")
        if array.dtype == np.bool_:
            array = array.view(np.uint8)
        elif array.dtype != np.uint8:
            array = (array != 0).view(np.uint8)
        array = np.require(array, np.uint8, ["C", "A"])
        self.match(name, array, shape)
        return array

    def empty(self, shape: str) -> Array:
        """A new array for an output; all letters are known."""
        return np.empty([int(a) if a.isdigit() else self.known[a] for a in shape.split()])

    def output(self, name: str, value: Optional[Array], shape: str) -> Array:
        """The caller's array for an output, which cannot be converted, or a new one."""
        if value is None:
            return self.empty(shape)
        flags = getattr(value, "flags", None)
        if flags is None or value.dtype != np.float64 or not (flags.c_contiguous and flags.aligned and flags.writeable):
            raise ValueError(f"{name}: expected a C-contiguous float64 array that can be written")
        self.match(name, value, shape)
        return value


def text(name: str, value: str, remedy: str = "leave it out") -> bytes:
    """A text for C, which would end at a NUL character: that is refused."""
    if "\0" in value:
        raise ValueError(f"{name}: {value!r} has a NUL character, at which C would cut it; {remedy}")
    return value.encode()


def file_name(path: Union[str, "os.PathLike[str]"]) -> bytes:
    """The same for the path of a file, in the encoding of the file system."""
    text("path", os.fspath(path))
    return os.fsencode(path)


def number(name: str, value: Any) -> float:
    """One number as a float."""
    array = np.asarray(value)
    if array.size != 1 or array.dtype.kind not in "fiub":
        raise ValueError(f"{name}: {value!r}, expected a number")
    return float(array.reshape(()))


@functools.lru_cache(maxsize=16)
def _above(size: int) -> AnyArray:
    """Which entries of a factor [P, P] C does not read: those above the diagonal."""
    return np.triu(np.ones((size, size), bool), 1)


def check_lower(name: str, array: Array) -> None:
    """ValueError unless what C does not read of factors [..., P, P] is 0."""
    unread = _above(array.shape[-1])
    if not array[..., unread].any():
        return
    at = tuple(int(i) for i in np.argwhere(np.where(unread, array, 0.0))[0])
    where = f"{name}[{', '.join(map(str, at))}] = {array[at]:g}"
    raise ValueError(
        f"{where}: entries above the diagonal must be 0, as {name} is a lower Cholesky factor; give np.linalg.cholesky(cov) for a "
        "covariance, the transpose for an upper factor")


def factor(shapes: Shapes, name: str, value: Any, size: str = "P", episodes: str = "E") -> Tuple[Array, int]:
    """Cholesky factors: [P, P] or [1, P, P] (shared) or [E, P, P]. Returns them and how many there are."""
    array, count = factor_gradient(shapes, name, value, size, episodes)
    check_lower(name, array)
    return array, count


def factor_gradient(shapes: Shapes, name: str, value: Any, size: str = "P", episodes: str = "E") -> Tuple[Array, int]:
    """The same for a gradient to factors, of which nothing above the diagonal is read."""
    array = _convert(name, value, np.float64)
    shapes.match(name, array, f"{size} {size}", f"1 {size} {size}", f"{episodes} {size} {size}")
    return array, 1 if array.ndim == 2 else array.shape[0]


def deviations(shapes: Shapes, name: str, value: Any, size: str = "P", episodes: str = "E") -> Tuple[Array, int]:
    """Standard deviations: [P] or [1, P] (shared) or [E, P]. Returns them and how many there are."""
    array = shapes.array(name, value, size, f"1 {size}", f"{episodes} {size}")
    return array, 1 if array.ndim == 1 else array.shape[0]


def one_factor(shapes: Shapes, name: str, value: Any) -> Array:
    """One Cholesky factor, [P, P] or [1, P, P]."""
    array = shapes.array(name, value, "P P", "1 P P")
    check_lower(name, array)
    return array


def integer(name: str, value: Any, least: Optional[int] = None, most: Optional[int] = None) -> int:
    """One integer, within limits."""
    if isinstance(value, (bool, np.bool_)):
        value = int(value)
    if isinstance(value, (float, np.floating)) and float(value).is_integer():
        value = int(value)
    if not isinstance(value, (int, np.integer)):
        raise ValueError(f"{name}: {value!r}, expected an integer")
    if (least is not None and value < least) or (most is not None and value > most):
        raise ValueError(f"{name}: {value}, expected {least} to {most}")
    return int(value)
