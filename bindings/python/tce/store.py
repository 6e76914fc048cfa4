"""Named arrays and texts in one safetensors file."""

from __future__ import annotations

import ctypes
import os
import tempfile
from ctypes import byref
from typing import Any, Iterator, List, Mapping, Optional, Union

import numpy as np

from ._arrays import file_name, text
from ._choices import ARGUMENTS
from ._declarations import StoreArray
from ._handle import Handle, make, struct
from ._library import lib
from .errors import NotFoundError

TYPES = ARGUMENTS["tce_store_put", "type"]
NAMES = {number: name for name, number in TYPES.items()}

Path = Union[str, "os.PathLike[str]"]


class Store(Handle, Mapping[str, Any]):
    """Arrays and texts by name, saved to and loaded from one file. Entries are added and replaced; none is removed.

    ``store["name"] = array`` copies an array in (float64, float32, int64, uint64, int32, uint8 or bool), a
    ``str`` without NUL characters is kept as text in the file's metadata. Reading gives a copy. Iteration goes over the
    arrays by name.
    Saving replaces the file atomically; loading verifies everything first.
    """

    _kind = "store"

    def __init__(self, arrays: Optional[Mapping[str, Any]] = None, *, _address: Optional[int] = None) -> None:
        super().__init__(_address or make(lib.tce_store_create, None))
        for name, value in (arrays or {}).items():
            self[name] = value

    @classmethod
    def load(cls, path: Path) -> "Store":
        """Reads a file."""
        return cls(_address=make(lib.tce_store_load, file_name(path), None))

    @classmethod
    def parse(cls, data: bytes) -> "Store":
        """Reads what a file would hold from memory."""
        data = bytes(data)
        return cls(_address=make(lib.tce_store_parse, data, len(data), None))

    def save(self, path: Path) -> None:
        """Writes the file; on any failure the old one is still there, whole."""
        with self._lock:
            lib.tce_store_save(self, file_name(path))

    def to_bytes(self) -> bytes:
        """What :meth:`save` would write, for :meth:`parse`."""
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "store")
            self.save(path)
            with open(path, "rb") as file:
                return file.read()

    def __reduce_ex__(self, protocol: Any) -> Any:
        return Store.parse, (self.to_bytes(),)

    def __setitem__(self, name: str, value: Any) -> None:
        key = text("name", name)
        with self._lock:
            if isinstance(value, str):
                remedy = "keep it as an array, np.frombuffer(text.encode(), np.uint8)"
                lib.tce_store_put_text(self, key, text(name, value, remedy))
                return
            array = np.asarray(value)
            if array.dtype == np.bool_:
                array = array.view(np.uint8) if array.ndim else array.astype(np.uint8)
            kind = array.dtype.newbyteorder("=").name
            if kind not in TYPES:
                raise TypeError(f"{name}: an array of {array.dtype}, expected {', '.join(TYPES)} or text")
            array = np.require(array, kind, ["C", "A"])
            lib.tce_store_put(self, key, TYPES[kind], array.ndim, np.array(array.shape, np.uintp), array)

    def __getitem__(self, name: str) -> Any:
        if "\0" in name:
            raise KeyError(f"no array or text {name!r}: names have no NUL characters")
        out = struct(StoreArray)
        try:
            # until the copy is made, nobody may replace the array or free the store
            with self._lock:
                store = self._check_open()
                lib.tce_store_get(store, name.encode(), byref(out))
                array = np.empty(tuple(out.shape[: out.rank]), NAMES[out.type])
                if array.nbytes:
                    ctypes.memmove(array.ctypes.data, out.data, array.nbytes)
        except NotFoundError as reason:
            found = self.text(name)
            if found is None:
                raise KeyError(reason.message) from None
            return found
        return array

    def text(self, name: str) -> Optional[str]:
        """The text under a name, or None."""
        with self._lock:
            value = lib.tce_store_get_text(self, text("name", name))
        return None if value is None else value.decode("utf-8", "replace")

    def __contains__(self, name: object) -> bool:
        try:
            self[str(name)]
            return True
        except KeyError:
            return False

    def __len__(self) -> int:
        return int(lib.tce_store_n_arrays(self))

    def __iter__(self) -> Iterator[str]:
        names: List[str] = []
        out = struct(StoreArray)
        with self._lock:
            store = self._check_open()
            for i in range(lib.tce_store_n_arrays(store)):
                lib.tce_store_at(store, i, byref(out))
                names.append(out.name.decode())
        return iter(names)

    def __repr__(self) -> str:
        return f"Store({'closed' if self._owned is None else ', '.join(self)})"
