"""Arrays across the border: C-contiguous float64 goes through without a copy, the rest is converted.

A shape is written as letters: "E T D" for three axes, "E 2" with a fixed number. ``Shapes`` remembers
what each letter stands for, so that arrays of one call must fit each other.
"""

from __future__ import annotations

import functools
import os
from typing import Any, Dict, List, Optional, Sequence, Tuple, Union

import numpy as np
from numpy import ndarray
from numpy.typing import NDArray

Array = NDArray[np.float64]
AnyArray = NDArray[Any]


FLOAT64 = np.dtype(np.float64)

# combinations of sizes that a call remembers
MOST_SHAPES = 256


def _convert(name: str, value: Any, dtype: Any) -> AnyArray:
    """A C-contiguous, aligned array of that type; the same object where it is one already."""
    if type(value) is ndarray and value.dtype is dtype:
        flags = value.flags
        if flags.c_contiguous and flags.aligned:
            return value
    array = np.asarray(value)
    if array.dtype.kind not in "fiub":
        raise ValueError(f"{name}: an array of {array.dtype}, expected numbers")
    return np.require(array, dtype, ["C", "A"])


class _Axes(Dict[str, Tuple[Union[str, int], ...]]):
    """The axes of each shape that was ever asked for: "E 2" -> ("E", 2)."""

    def __missing__(self, shape: str) -> Tuple[Union[str, int], ...]:
        axes = self[shape] = tuple(int(axis) if axis.isdigit() else axis for axis in shape.split())
        return axes


_AXES = _Axes()


class Shapes:
    """What the letters of the shapes in one call stand for."""

    __slots__ = ("known",)

    def __init__(self, **known: int) -> None:
        self.known: Dict[str, int] = known

    def __getitem__(self, letter: str) -> int:
        return self.known[letter]

    def _fit(self, actual: Tuple[int, ...], shape: str) -> bool:
        """Whether an array of this size has the shape; then its letters are known."""
        axes, known = _AXES[shape], self.known
        if len(axes) != len(actual):
            return False
        new: List[str] = []
        for axis, size in zip(axes, actual):
            expected = known.get(axis) if type(axis) is str else axis
            if expected is None:
                known[axis] = size  # type: ignore[index]
                new.append(axis)  # type: ignore[arg-type]
            elif expected != size:
                for letter in new:
                    del known[letter]
                return False
        return True

    def _text(self, shape: str) -> str:
        axes = [f"{a}={self.known[a]}" if a in self.known else a for a in shape.split()]
        return "[" + ", ".join(axes) + "]"

    def match(self, name: str, array: AnyArray, *shapes: str) -> int:
        """Which of the shapes the array has (their number); remembers its letters."""
        for number, shape in enumerate(shapes):
            if self._fit(array.shape, shape):
                return number
        expected = " or ".join(self._text(shape) for shape in shapes)
        raise ValueError(f"{name}: shape {list(array.shape)}, expected {expected}")

    def array(self, name: str, value: Any, *shapes: str) -> Array:
        """The value as float64 in one of the shapes."""
        array = _convert(name, value, FLOAT64)
        if not self._fit(array.shape, shapes[0]):
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
        known = self.known
        return np.empty([axis if isinstance(axis, int) else known[axis] for axis in _AXES[shape]])

    def output(self, name: str, value: Optional[Array], shape: str) -> Array:
        """The caller's array for an output, which cannot be converted, or a new one."""
        return self.empty(shape) if value is None else given_output(self, name, value, shape)


def given_output(shapes: Shapes, name: str, value: Any, shape: str) -> Array:
    """The caller's array for an output; ValueError unless C can write its doubles into it."""
    flags = getattr(value, "flags", None)
    if flags is None or value.dtype != np.float64 or not (flags.c_contiguous and flags.aligned and flags.writeable):
        raise ValueError(f"{name}: expected a C-contiguous float64 array that can be written")
    shapes.match(name, value, shape)
    array: Array = value
    return array


def output(value: Optional[Array], *size: int, name: str = "out") -> Array:
    """The same for a size that is known."""
    return np.empty(size) if value is None else given_output(Shapes(), name, value, " ".join(map(str, size)))


def outputs(value: Optional[Tuple[Array, ...]], *sizes: Tuple[int, ...]) -> List[Array]:
    """The same for several outputs; value: an array for each, or None."""
    if value is None:
        return [np.empty(size) for size in sizes]
    if not isinstance(value, (tuple, list)) or len(value) != len(sizes):
        raise ValueError(f"out: expected {len(sizes)} arrays, in the order of the results")
    return [output(array, *size) for array, size in zip(value, sizes)]


class Inputs:
    """The arrays of one call, whose shapes are matched once for each combination of sizes.

    ``Inputs("P", mean="E P", chol="P P or 1 P P", start="E D or None")`` is called with the sizes of the first letters and with the
    arrays, and gives what all letters stand for and the arrays as C takes them.
    """

    def __init__(self, letters: str, **shapes: str) -> None:
        self._letters = letters.split()
        self._shapes = {name: text.split(" or ") for name, text in shapes.items()}
        self._seen: Dict[Any, Dict[str, int]] = {}

    def __call__(self, sizes: Tuple[int, ...], *values: Any) -> Tuple[Dict[str, int], Sequence[Any]]:
        key: List[Any] = [sizes]
        for value in values:
            if type(value) is ndarray and value.dtype is FLOAT64 and value.flags.carray:
                key.append(value.shape)
            elif value is None:
                key.append(None)
            else:
                return self._match(sizes, values)
        known = self._seen.get(tuple(key))
        return (known, values) if known is not None else self._match(sizes, values)

    def _match(self, sizes: Tuple[int, ...], values: Sequence[Any]) -> Tuple[Dict[str, int], Sequence[Any]]:
        shapes = Shapes(**dict(zip(self._letters, sizes)))
        arrays = [
            None if value is None and allowed[-1] == "None" else shapes.array(name, value, *(one for one in allowed if one != "None"))
            for (name, allowed), value in zip(self._shapes.items(), values)]
        if len(self._seen) >= MOST_SHAPES:
            self._seen.clear()
        self._seen[(sizes, *(None if array is None else array.shape for array in arrays))] = shapes.known
        return shapes.known, arrays


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
    if type(value) is float:
        return value
    array = np.asarray(value)
    if array.size != 1 or array.dtype.kind not in "fiub":
        raise ValueError(f"{name}: {value!r}, expected a number")
    return float(array.reshape(()))


# so many entries are looked at one by one sooner than by numpy
FEW = 16


@functools.lru_cache(maxsize=16)
def _above(size: int) -> AnyArray:
    """Which entries of a factor [P, P], counted row by row, C does not read: those above the diagonal."""
    return np.flatnonzero(np.triu(np.ones((size, size), bool), 1))


@functools.lru_cache(maxsize=16)
def _few_above(size: int) -> Tuple[int, ...]:
    return tuple(_above(size).tolist())


def check_lower(name: str, array: Array) -> None:
    """ValueError unless what C does not read of factors [..., P, P] is 0."""
    size = array.shape[-1]
    if array.size == size * size and size * (size - 1) <= 2 * FEW and not any(map(array.item, _few_above(size))):
        return
    unread = array.reshape(-1, size * size).take(_above(size), 1)
    if not np.count_nonzero(unread):
        return
    row, place = np.argwhere(unread)[0]
    at = (int(row),) * (array.ndim - 2) + divmod(int(_above(size)[place]), size)
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
    array = _convert(name, value, FLOAT64)
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
    if type(value) is int and (least is None or value >= least) and (most is None or value <= most):
        return value
    if isinstance(value, (bool, np.bool_)):
        value = int(value)
    if isinstance(value, (float, np.floating)) and float(value).is_integer():
        value = int(value)
    if not isinstance(value, (int, np.integer)):
        raise ValueError(f"{name}: {value!r}, expected an integer")
    if (least is not None and value < least) or (most is not None and value > most):
        raise ValueError(f"{name}: {value}, expected {least} to {most}")
    return int(value)
