"""The C library: where it is found, and its functions with the types of ``_declarations``.

``lib`` has one attribute per public function. Functions that return tce_status raise the exception of
``tce.errors`` when they fail, with the message that the library left for this thread.
"""

from __future__ import annotations

import ctypes
import ctypes.util
import os
import re
import sys
from ctypes import c_char_p, c_int32
from pathlib import Path
from typing import Any, Callable, List, Optional, Sequence, Tuple

from . import _kernels
from ._declarations import FUNCTIONS, TCE_GAUSS_DIAGONAL, TCE_VERSION_MAJOR, TCE_VERSION_MINOR, TCE_VERSION_PATCH, Gauss
from ._pointers import Status
from .errors import error

SONAME = f"libtce.{TCE_VERSION_MAJOR}.dylib" if sys.platform == "darwin" else f"libtce.so.{TCE_VERSION_MAJOR}"

# The library that the declarations were made for, as tce_version() counts.
VERSION_NEEDED = TCE_VERSION_MAJOR * 1000000 + TCE_VERSION_MINOR * 1000 + TCE_VERSION_PATCH


def _candidates() -> List[str]:
    """Names to try, in order: the bundled library, TCE_LIBRARY, that of a source checkout, the system's loader."""
    package = Path(__file__).resolve().parent
    names = []
    bundled = package / "lib" / SONAME
    if bundled.exists():
        names.append(str(bundled))
    if os.environ.get("TCE_LIBRARY"):
        names.append(os.path.abspath(os.environ["TCE_LIBRARY"]))
    elif len(package.parents) > 2 and (package.parents[2] / "lib" / SONAME).exists():
        names.append(str(package.parents[2] / "lib" / SONAME))
    names.append(SONAME)
    found = ctypes.util.find_library("tce")
    if found and found not in names:
        names.append(found)
    return names


def _load() -> Tuple[ctypes.CDLL, str]:
    """The first candidate that loads; the error of each when none does."""
    reasons = []
    for name in _candidates():
        try:
            return _kernels.load(name), name
        except OSError as reason:
            reasons.append(f"  {name}: {reason}")
    raise ImportError(
        "libtce could not be loaded. Tried:\n" + "\n".join(reasons)
        + f"\nInstall the package with `pip install ./bindings/python`, or set TCE_LIBRARY to {SONAME}.")


# What C calls otherwise than Python: fields of options, bounds and grids, factors, the second Gaussian.
_RENAMED = (
    (re.compile(r"(?<![\w.])(?:tce_\w+_)?options\.(?=[a-z])"), ""),
    (re.compile(r"(?<![\w.])bounds\.(mean|cov|entropy)\b"), r"\1_bound"),
    (re.compile(r"(?<![\w.])grid\.(?=times|init_|[ET]\b)"), ""),
    (re.compile(r"(?<![\w.])(old_|d_|out_)?L(?=\[| =| overflowed)"), r"\1chol"),
    (re.compile(r"(?<![\w.])other\.(?=[a-z])"), "other_"),
    (re.compile(r"(?<![\w.])weights_scales(?=\[)"), "weights_scale"))


def renamed(message: str, arguments: Sequence[Any] = ()) -> str:
    """A message of C in the names that Python has for the arguments of that call."""
    for pattern, name in _RENAMED:
        message = pattern.sub(name, message)
    for argument in arguments:
        gauss = getattr(argument, "_obj", None)
        if isinstance(gauss, Gauss):
            return re.sub(r"(?<![\w.])(other_)?scale(?=\[| =)", r"\1std" if gauss.form == TCE_GAUSS_DIAGONAL else r"\1chol", message)
    return message


def _status_error(status: int, arguments: Sequence[Any] = (), rename: Callable[..., str] = renamed) -> Exception:
    """The exception for a status that a call in this thread has just returned."""
    name = lib.tce_status_name(status) or b"?"
    message = lib.tce_error_message() or b""
    return error(status, name.decode("utf-8", "replace"), rename(message.decode("utf-8", "replace"), arguments))


def _argument_fault(arguments: Sequence[Any], reason: Exception) -> Exception:
    """What an argument itself raised (a closed handle) where ctypes has an ArgumentError of its own."""
    try:
        for argument in arguments:
            getattr(argument, "_as_parameter_", None)
    except ValueError as own:
        return own
    return reason


def declare(function: Any, result: Any, arguments: List[Any], rename: Callable[..., str] = renamed) -> Callable[..., Any]:
    """A C function with its types, which raises where it returns a status. rename: what its messages are called in Python."""
    function.argtypes = arguments
    function.restype = c_int32 if result is Status else result
    raises = result is Status

    def call(*given: Any) -> Any:
        try:
            value = function(*given)
        except ctypes.ArgumentError as reason:
            raise _argument_fault(given, reason) from None
        if raises and value != 0:
            raise _status_error(value, given, rename)
        return value

    return call


def _declare_all(library: ctypes.CDLL) -> None:
    """Gives every function its types; one that is missing is named."""
    for name, (result, arguments) in FUNCTIONS.items():
        try:
            function = getattr(library, name)
        except AttributeError:
            raise ImportError(f"{path} has no {name}: it is not the library of this package") from None
        setattr(library, name, declare(function, result, arguments))


def _check_version(library: ctypes.CDLL) -> None:
    number = library.tce_version()
    if number < VERSION_NEEDED or number // 1000000 != VERSION_NEEDED // 1000000:
        raise ImportError(
            f"{path} is libtce {library.tce_version_string().decode()}; this package needs "
            f"{VERSION_NEEDED // 1000000}.{VERSION_NEEDED // 1000 % 1000}.{VERSION_NEEDED % 1000} or later "
            "with the same major number")


lib, path = _load()
_declare_all(lib)
_check_version(lib)
try:
    lib.tce_blas_check()
except Exception as reason:
    raise ImportError(str(reason)) from None


def openblas_function(name: str, result: Any) -> Optional[Callable[[], Any]]:
    """A function of OpenBLAS without arguments, where that is what libtce is linked with."""
    # in the package for any Linux all its names begin so
    function = getattr(lib, name, None) or getattr(lib, "scipy_" + name, None)
    if function is None:
        return None
    function.argtypes, function.restype = [], result
    found: Callable[[], Any] = function
    return found


def fail(status: int, message: str) -> int:
    """Leaves a message for this thread and returns the status: for callbacks."""
    text = message.replace("\0", " ").encode("utf-8", "replace")
    return int(lib.tce_fail(status, b"%s", c_char_p(text)))
