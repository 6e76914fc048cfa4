"""The trainer's library: where it is found, and its functions with the types of ``_train_declarations``."""

from __future__ import annotations

import ctypes
import functools
import os
import re
import shutil
import sys
from pathlib import Path
from typing import Any, List, Sequence

from ._library import declare, renamed
from ._train_declarations import FUNCTIONS
from .errors import E_LIBRARY, E_NOT_FOUND, LibraryError, NotFoundError

NAME = "libtce_train.dylib" if sys.platform == "darwin" else "libtce_train.so"

# options of the program, as its messages name them, and what tce.train and tce.load call them
_OPTIONS = (
    (re.compile(r"`tce train --resume [^`]*`"), "tce.train(…, resume=True)"), (re.compile(r"(?<!\S)--resume ('[^']*'|[^\s,;:`]+)"), "resume=True"),
    (re.compile(r"(?<!\S)--restart\b"), "restart=True"), (re.compile(r"another folder with --out\b"), "another folder as out="),
    (re.compile(r"(?<!\S)--out\b"), "out="), (re.compile(r"(?<!\S)--episodes\b"), "n"))
# whether somebody has typed the program's options, and knows them by those names
typed = False


def in_python(message: str, arguments: Sequence[Any] = ()) -> str:
    """A message of the trainer in Python's names."""
    for pattern, name in () if typed else _OPTIONS:
        message = pattern.sub(name, message)
    return renamed(message, arguments)


def places() -> List[Path]:
    """Where it may be when TCE_TRAIN is not set, best first."""
    package = Path(__file__).resolve().parent
    found = [package / "bin" / NAME]
    if len(package.parents) > 2:
        found.append(package.parents[2] / "build" / "bin" / NAME)
    program = shutil.which("tce")
    if program:
        folder = Path(program).resolve().parent
        found += [folder / NAME, folder.parent / "lib" / NAME, folder.parent / "lib" / "tce" / NAME]
    return found


@functools.lru_cache(maxsize=None)
def trainer() -> Any:
    """The library, loaded when it is first needed."""
    named = os.environ.get("TCE_TRAIN")
    tried = [Path(named).absolute()] if named else places()
    path = next((place for place in tried if place.is_file()), None)
    if path is None:
        raise NotFoundError(
            E_NOT_FOUND, "TCE_E_NOT_FOUND",
            f"no {NAME} at {', '.join(map(str, tried))}. Build it with `make program` in a checkout of libtce, then name it in TCE_TRAIN "
            "or install the package again.")
    try:
        library = ctypes.CDLL(str(path))
    except OSError as reason:
        raise LibraryError(E_LIBRARY, "TCE_E_LIBRARY", str(reason)) from None
    for name, (result, arguments) in FUNCTIONS.items():
        if not hasattr(library, name):
            raise LibraryError(E_LIBRARY, "TCE_E_LIBRARY", f"{path} has no {name}: it is not the trainer of this package")
        setattr(library, name, declare(getattr(library, name), result, arguments, in_python))
    return library
