"""What may stand where C takes a pointer: arrays as they are, handles, ctypes objects, None for NULL.

An array argument is an ndarray of the right type that lies in one piece; the call itself keeps it alive. Converting and checking
shapes is the business of ``_arrays``.
"""

from __future__ import annotations

import ctypes
from ctypes import addressof, c_char, c_int32, c_void_p
from typing import Any, Callable, ClassVar, Dict, Type, TypeVar

import numpy as np
from numpy import ndarray
from numpy.typing import NDArray

# handles, structs by reference, callbacks
Pointer = c_void_p

# The memory of an array as ctypes passes it to C: made in a third of the time that array.ctypes.data takes.
memory: Callable[[Any], Any] = (c_char * 0).from_buffer


class Status(c_int32):
    """The result of functions that raise when it is not TCE_OK."""


class Data:
    """void *: an array of anything, or of the one dtype of a derived class."""

    dtype: Any = None

    @classmethod
    def check(cls, array: Any) -> None:
        """TypeError for an array that C would misread."""
        if (cls.dtype is not None and cls.dtype != array.dtype) or not array.flags.c_contiguous:
            raise TypeError(
                f"expected a C-contiguous array of {cls.dtype or 'anything'}, not of {array.dtype} with strides {array.strides}")

    @classmethod
    def from_param(cls, value: Any) -> Any:
        """What ctypes passes for an argument of this type."""
        if type(value) is ndarray and value.dtype is cls.dtype and value.flags.carray:
            return memory(value)
        if not isinstance(value, ndarray):
            return c_void_p.from_param(value)
        cls.check(value)
        return memory(value) if value.flags.writeable else c_void_p(value.ctypes.data)

    @classmethod
    def address(cls, value: NDArray[Any]) -> int:
        """The address of an array, for a field of a struct."""
        if value.dtype is cls.dtype and value.flags.carray:
            return addressof(memory(value))
        cls.check(value)
        return addressof(memory(value)) if value.flags.writeable else value.ctypes.data


class Float64(Data):
    """double *"""

    dtype = np.dtype(np.float64)


class Int32(Data):
    """int32_t *"""

    dtype = np.dtype(np.int32)


class Uint32(Data):
    """uint32_t *"""

    dtype = np.dtype(np.uint32)


class Uint8(Data):
    """uint8_t *"""

    dtype = np.dtype(np.uint8)


class Size(Data):
    """size_t *"""

    dtype = np.dtype(np.uintp)


AnyStruct = TypeVar("AnyStruct", bound="Struct")


class Struct(ctypes.Structure):
    """A C struct that prints its fields."""

    _name_: ClassVar[str] = ""  # in C
    _arrays_: ClassVar[Dict[str, Type[Data]]] = {}  # fields that point to numbers, and their types

    def point(self, **targets: Any) -> None:
        """Makes fields point to arrays, handles or ctypes objects (None: NULL), which live as long as this struct."""
        kept, arrays = self.__dict__.setdefault("_kept", {}), self._arrays_
        for field, target in targets.items():
            if target is None:
                address = None
            elif isinstance(target, ndarray):
                address = (arrays[field] if field in arrays else Data).address(target)
            else:
                # of a handle, the C handle: it stays when the Python object is closed
                target = getattr(target, "_as_parameter_", target)
                address = ctypes.cast(target, c_void_p).value
            kept[field] = target
            setattr(self, field, address)

    def changed(self: AnyStruct, **fields: Any) -> AnyStruct:
        """A copy with other values in some fields, which keeps what it points to as well."""
        other = type(self).from_buffer_copy(self)
        other.__dict__["_kept"] = dict(self.__dict__.get("_kept", {}))
        for field, value in fields.items():
            setattr(other, field, value)
        return other

    def __repr__(self) -> str:
        fields = ", ".join(f"{field[0]}={getattr(self, field[0])!r}" for field in self._fields_)
        return f"{type(self).__name__}({fields})"
