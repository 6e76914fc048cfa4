"""What may stand where C takes a pointer: arrays as they are, handles, ctypes objects, None for NULL.

An array argument is an ndarray of the right type that lies in one piece; the call itself keeps it alive. Converting and checking
shapes is the business of ``_arrays``.
"""

from __future__ import annotations

import ctypes
from ctypes import c_int32, c_void_p
from typing import Any, Optional

import numpy as np

# handles, structs by reference, callbacks
Pointer = c_void_p


class Struct(ctypes.Structure):
    """A C struct that prints its fields."""

    def __repr__(self) -> str:
        fields = ", ".join(f"{field[0]}={getattr(self, field[0])!r}" for field in self._fields_)
        return f"{type(self).__name__}({fields})"


class Status(c_int32):
    """The result of functions that raise when it is not TCE_OK."""


class _Array:
    """An argument type for arrays of one dtype."""

    dtype: Any = None  # any

    @classmethod
    def from_param(cls, value: Any) -> Optional[Any]:
        if value is None:
            return None
        if isinstance(value, np.ndarray):
            if cls.dtype not in (None, value.dtype) or not value.flags.c_contiguous:
                raise TypeError(
                    f"expected a C-contiguous array of {cls.dtype or 'anything'}, not of {value.dtype} with strides {value.strides}")
            return c_void_p(value.__array_interface__["data"][0])
        return c_void_p.from_param(value)


class Float64(_Array):
    """double *"""

    dtype = np.dtype(np.float64)


class Int32(_Array):
    """int32_t *"""

    dtype = np.dtype(np.int32)


class Uint32(_Array):
    """uint32_t *"""

    dtype = np.dtype(np.uint32)


class Uint8(_Array):
    """uint8_t *"""

    dtype = np.dtype(np.uint8)


class Data(_Array):
    """void *"""
