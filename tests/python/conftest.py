"""What the tests share: case files, comparison, a compiler, and small task libraries."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any, List

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]
GOLDEN = Path(os.environ.get("TCE_GOLDEN", ROOT / "tests" / "golden"))


def cases(file: str, *kinds: str) -> List[Any]:
    """The cases of a file as pytest parameters, named by kind and number."""
    with open(GOLDEN / file, encoding="utf-8") as stream:
        found = json.load(stream)
    chosen = [(i, case) for i, case in enumerate(found) if not kinds or case["kind"] in kinds]
    return [pytest.param(case, id=f"{case['kind']}-{i}") for i, case in chosen]


def assert_close(got: Any, want: Any, tolerance: float, least: float = 1.0) -> None:
    """|got - want| <= tolerance * max(least, max |want|)."""
    got, want = np.asarray(got, float), np.asarray(want, float)
    assert got.shape == want.shape
    assert np.isfinite(got).all()
    limit = tolerance * max(least, np.abs(want).max())
    assert np.abs(got - want).max() <= limit


def compiler(*names: str) -> str:
    for name in names:
        if name and shutil.which(name):
            return name
    pytest.skip("no compiler")


@pytest.fixture(scope="session")
def tasks(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A task library in C, compiled here."""
    folder = tmp_path_factory.mktemp("tasks")
    library = folder / "tasks.so"
    cc = compiler(os.environ.get("CC", ""), "cc", "gcc", "clang")
    subprocess.run(
        [cc, "-std=c99", "-O1", "-shared", "-fPIC", f"-I{ROOT / 'include'}", "-o", str(library),
         str(Path(__file__).parent / "tasks.c")], check=True)
    return library
