"""A small task library, for tests that run environments of C."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from shared import ROOT, compiler

# the environment that the examples train on
sys.path.insert(0, str(ROOT / "examples" / "python"))


@pytest.fixture(scope="session")
def tasks(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A task library in C, compiled here."""
    folder = tmp_path_factory.mktemp("tasks")
    library = folder / "tasks.so"
    cc = compiler(os.environ.get("CC", ""), "cc", "gcc", "clang")
    subprocess.run(
        [cc, "-std=c99", "-O1", "-shared", "-fPIC", f"-I{ROOT / 'include'}", f"-I{ROOT / 'tests'}", "-o", str(library),
         str(ROOT / "tests" / "toys" / "planes.c")], check=True)
    return library
