"""The programs printed in docs/python.md, docs/cpp.md and the package's README run as they stand."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import tce
from shared import ROOT, compiler


def blocks(path: str, language: str) -> list:
    text = (ROOT / path).read_text(encoding="utf-8")
    found = re.findall(rf"^```{language}\n(.*?)^```", text, flags=re.S | re.M)
    assert found, f"{path} prints no {language}"
    return [pytest.param(block, id=f"{path}-{i}") for i, block in enumerate(found)]


@pytest.mark.parametrize("code", blocks("docs/python.md", "python") + blocks("bindings/python/README.md", "python"))
def test_python(code, tmp_path) -> None:
    if "Pendulum" in code:
        pytest.importorskip("gymnasium")
    environment = {**os.environ, "PYTHONPATH": str(Path(tce.__file__).parents[1])}
    result = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr


@pytest.mark.parametrize("code", blocks("docs/cpp.md", "cpp"))
def test_cpp(code, tmp_path) -> None:
    cxx = compiler("c++", "g++", "clang++")
    library = Path(tce._library.path).resolve()
    (tmp_path / "main.cpp").write_text(code)
    (tmp_path / "libtce.so.0").symlink_to(library)
    subprocess.run(
        [cxx, "-std=c++11", "-Wall", "-Wextra", "-Werror", f"-I{ROOT / 'include'}", f"-I{ROOT / 'bindings' / 'cpp'}",
         "-o", str(tmp_path / "main"), str(tmp_path / "main.cpp"), str(library)], check=True)
    result = subprocess.run(
        [str(tmp_path / "main")], env={**os.environ, "LD_LIBRARY_PATH": str(tmp_path)}, capture_output=True, text=True)
    assert result.returncode == 0, result.stdout + result.stderr
