"""``python -m tce …`` is the program ``tce``: train, eval, plot, export, bench, tasks, config; and ``python -m tce models``.

With --python, train and eval run here: their task is an environment in Python. Else the program is looked for under TCE_PROGRAM, in the package,
in the build folder of a checkout, and on the PATH.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import sys
from pathlib import Path
from typing import Dict, List, Optional

from ._models import main as models

PACKAGE = Path(__file__).resolve().parent


def is_own_script(path: str) -> bool:
    """Whether this is the script that pip makes of this module, which would lead back here."""
    try:
        with open(path, "rb") as file:
            text = file.read(2000)
    except OSError:
        return False
    return text.startswith(b"#!") and b"tce.__main__" in text


def places() -> List[Path]:
    """Where the program may be when TCE_PROGRAM is not set, best first."""
    found = [PACKAGE / "bin" / "tce"]
    if len(PACKAGE.parents) > 2:
        found.append(PACKAGE.parents[2] / "build" / "bin" / "tce")
    on_path = shutil.which("tce")
    return found + ([Path(on_path)] if on_path and not is_own_script(on_path) else [])


def runs(path: Path) -> bool:
    return path.is_file() and os.access(path, os.X_OK)


def find() -> Optional[Path]:
    """The program, or None. A TCE_PROGRAM that is not a program is not passed over in silence."""
    named = os.environ.get("TCE_PROGRAM")
    if named:
        return Path(named) if runs(Path(named)) else None
    return next((path for path in places() if runs(path)), None)


def environment(program: Path) -> Dict[str, str]:
    """What the program needs to find: the package's libtce, and this interpreter for its pictures."""
    variables = dict(os.environ)
    variables.setdefault("TCE_PYTHON", sys.executable)
    before = variables.get("PYTHONPATH")
    variables["PYTHONPATH"] = str(PACKAGE.parent) + (os.pathsep + before if before else "")
    if program.parent == PACKAGE / "bin":
        before = variables.get("LD_LIBRARY_PATH")
        # MuJoCo's own package, wherever it is installed
        mujoco = importlib.util.find_spec("mujoco")
        folders = [str(PACKAGE / "lib"), *((mujoco.submodule_search_locations or []) if mujoco else [])]
        variables["LD_LIBRARY_PATH"] = os.pathsep.join(folders + ([before] if before else []))
    return variables


def main() -> int:
    if sys.argv[1:2] == ["models"]:
        return models(sys.argv[2:])
    from . import _command

    if _command.asks(sys.argv[1:]):
        return _command.main(sys.argv[1:])
    program = find()
    if program is None:
        tried = os.environ.get("TCE_PROGRAM") or ", ".join(map(str, places()))
        print(
            f"tce: no program at {tried}. Build it with `make program` in a checkout of libtce, then name it in "
            "TCE_PROGRAM or install the package again.", file=sys.stderr)
        return 1
    sys.stdout.flush()
    try:
        os.execve(program, ["tce", *sys.argv[1:]], environment(program))
    except OSError as fault:
        print(f"tce: {program} does not start: {fault.strerror}. Build it again with `make program`.", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
