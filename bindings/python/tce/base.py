"""Random streams, the thread pool, versions and the BLAS threads."""

from __future__ import annotations

import contextlib
import copy
import ctypes
from ctypes import byref, c_int32
from typing import Any, Callable, Dict, Optional, Union

import numpy as np
from numpy.typing import NDArray

from . import _kernels
from ._arrays import Array, integer
from ._callbacks import Chunks, in_callback
from ._declarations import PoolOptions, PoolWork
from ._declarations import Random as RandomState
from ._handle import Handle, constructor, fill, make, struct
from ._library import lib, openblas_function
from ._locks import Gate

MASK = 2**64 - 1
SIZE_MAX = 2 ** (8 * ctypes.sizeof(ctypes.c_size_t)) - 1


class Random:
    """A Philox stream keyed by (seed, purpose, a, b); streams with different keys are independent.

    The same key gives the same numbers in C, C++ and Python. One thread at a time.
    """

    def __init__(self, seed: int = 0, purpose: int = 0, a: int = 0, b: int = 0) -> None:
        self._state = RandomState()
        lib.tce_random_start(byref(self._state), *(integer("key", k, 0, MASK) for k in (seed, purpose, a, b)))

    @property
    def _as_parameter_(self) -> Any:
        return byref(self._state)

    def bits(self) -> int:
        """64 random bits."""
        return int(lib.tce_random_bits(self))

    def uniform(self) -> float:
        """Uniform in [0, 1)."""
        return float(lib.tce_random_uniform(self))

    def normal(self) -> float:
        """Standard normal."""
        return float(self.normals(1)[0])

    def normals(self, n: int) -> Array:
        """n standard normals."""
        out = np.empty(integer("n", n, 0))
        lib.tce_random_normals(self, out.size, out)
        return out

    def below(self, n: int) -> int:
        """Uniform in 0 … n-1."""
        return int(lib.tce_random_below(self, integer("n", n, 0, MASK)))

    def permutation(self, n: int) -> NDArray[np.uint32]:
        """A uniform permutation of 0 … n-1."""
        out = np.empty(integer("n", n, 0), np.uint32)
        lib.tce_random_permutation(self, out.size, out)
        return out

    @property
    def state(self) -> bytes:
        """All of the stream's state; assign it to continue from there."""
        return bytes(self._state)

    @state.setter
    def state(self, value: bytes) -> None:
        if len(value) != ctypes.sizeof(RandomState):
            raise ValueError(f"state: {len(value)} bytes, expected {ctypes.sizeof(RandomState)}")
        ctypes.memmove(byref(self._state), value, len(value))

    def copy(self) -> "Random":
        """A stream that continues with the same numbers."""
        return copy.copy(self)

    def __repr__(self) -> str:
        return f"Random(<state {self.state.hex()}>)"

    def __getstate__(self) -> bytes:
        return self.state

    def __setstate__(self, value: bytes) -> None:
        self._state = RandomState()
        self.state = value


# What every ``random=`` and every argument ``random`` takes.
RandomSource = Union[Random, int, np.random.Generator]


def random_stream(random: Any) -> Random:
    """The stream of a source of random numbers: itself, that of a seed, or one keyed by a draw of a numpy generator."""
    if isinstance(random, Random):
        return random
    if isinstance(random, np.random.Generator):
        return Random(int(random.integers(MASK, dtype=np.uint64, endpoint=True)))
    if isinstance(random, (int, np.integer)) and not isinstance(random, bool):
        return Random(integer("random", random, 0, MASK))
    raise TypeError(
        f"random: {random!r}, expected a tce.Random, a seed (an integer, which starts a new stream at every call) or a "
        "numpy.random.Generator such as np.random.default_rng()")


class Pool(Handle):
    """Threads for the objects that take ``pool=``. Results are the same bytes for any number of them.

    ``n_threads`` 0 means as many as the machine has cores. Objects keep their pool alive: ``close()`` takes effect
    when the last of them is closed.
    """

    _kind = "pool"

    @constructor
    def __init__(self, n_threads: int = 0) -> None:
        super().__init__()
        self._gate = self._serving = Gate()
        options = struct(PoolOptions)
        fill(options, {"n_threads": n_threads})
        self._owned = self._own(make(lib.tce_pool_create, byref(options), None))

    def _shown(self) -> Dict[str, Any]:
        return {} if self._owned is None else {"n_threads": self.n_threads}

    @property
    def n_threads(self) -> int:
        """Number of threads, the calling one included."""
        return int(lib.tce_pool_n_threads(self))

    def run(self, n_items: int, chunk_size: int, work: Callable[[int, int, int, int], None]) -> None:
        """Calls ``work(chunk, begin, end, worker)`` for every chunk. Its exceptions are raised here, that of the first
        chunk when there are several; after KeyboardInterrupt no more chunks are started.

        Another thread's call waits; one from inside ``work`` runs in its own thread.
        """
        chunks = Chunks()

        def call(context: Any, chunk: int, begin: int, end: int, worker: int) -> int:
            return chunks.run(chunk, work, chunk, begin, end, worker)

        callback = PoolWork(call)
        sizes = integer("n_items", n_items, 0, SIZE_MAX), integer("chunk_size", chunk_size, 0, SIZE_MAX)
        with contextlib.nullcontext() if in_callback() else self._serving:
            chunks.call(lib.tce_pool_run, self, *sizes, callback, None)


def version() -> str:
    """Version of the C library that is running."""
    return str(lib.tce_version_string().decode())


def blas_threads() -> int:
    """How many threads OpenBLAS uses; 1 when the library is linked with another BLAS."""
    count = openblas_function("openblas_get_num_threads", c_int32)
    return int(count()) if count else 1


def better_blas_kernels() -> Optional[str]:
    """What OPENBLAS_CORETYPE should be set to before Python starts, where OpenBLAS took kernels that are too old for this processor and was
    loaded by somebody else before libtce, which would have asked for better ones.

    It chooses them when it is loaded. For a processor that is newer than itself it takes those of 2004, at a third of the speed or less.
    """
    return _kernels.better(lib)


def blas_kernels() -> Optional[str]:
    """The kernels that OpenBLAS computes with, by its own name; None when the library is linked with another BLAS. Results depend on them in their last bits."""
    return _kernels.chosen(lib)


def set_blas_threads(n_threads: int) -> None:
    """Changes it, for the whole process. The promise of equal bytes needs 1."""
    lib.tce_blas_set_threads(integer("n_threads", n_threads, 1, 4096))
