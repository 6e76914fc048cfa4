"""Which kernels OpenBLAS computes with: it chooses them when it is loaded, by the processor, and old ones for a processor that it does not know.

The program ``tce`` then starts once more with OPENBLAS_CORETYPE set. Here the library is loaded once more, which gives the same kernels and the
same bytes, unless somebody else has loaded OpenBLAS before.
"""

from __future__ import annotations

import _ctypes
import ctypes
import os
from ctypes import c_char_p
from pathlib import Path
from typing import Optional, Set

VARIABLE = "OPENBLAS_CORETYPE"

# what OpenBLAS falls back to, and its kernels for processors that had no AVX2
OLD_KERNELS = {"Prescott", "Core2", "Penryn", "Dunnington", "Nehalem", "Sandybridge", "Barcelona", "Bulldozer"}


def chosen(library: ctypes.CDLL) -> Optional[str]:
    """OpenBLAS's name of its kernels; None where a library is linked with another BLAS."""
    # in the package for any Linux all names of OpenBLAS begin with scipy_
    name = getattr(library, "openblas_get_corename", None) or getattr(library, "scipy_openblas_get_corename", None)
    if name is None:
        return None
    name.argtypes, name.restype = [], c_char_p
    found = name()
    return None if found is None else str(found.decode())


def processor_flags() -> Set[str]:
    """The instruction sets of this processor, as Linux names them; empty where the system does not say."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return set()
    return set(next((line for line in lines if line.startswith("flags")), "").split())


def better(library: ctypes.CDLL) -> Optional[str]:
    """The kernels to ask for, where OpenBLAS took old ones by itself."""
    if VARIABLE in os.environ or chosen(library) not in OLD_KERNELS:
        return None
    instructions = processor_flags()
    if {"avx512f", "avx512bw", "avx512dq", "avx512vl"} <= instructions:
        return "SkylakeX"
    return "Haswell" if {"avx2", "fma"} <= instructions else None


def load(name: str) -> ctypes.CDLL:
    """A library that is linked with OpenBLAS, loaded twice where the first choice of kernels is a poor one."""
    library = ctypes.CDLL(name)
    wanted = better(library)
    unload = getattr(_ctypes, "dlclose", None)
    if wanted is None or unload is None:
        return library
    handle = library._handle
    del library
    os.environ[VARIABLE] = wanted
    unload(handle)
    library = ctypes.CDLL(name)
    if chosen(library) in OLD_KERNELS:
        # OpenBLAS was loaded before, by somebody else, and has chosen already
        del os.environ[VARIABLE]
    return library
