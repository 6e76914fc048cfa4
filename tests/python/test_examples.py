"""The scripts of examples/python run and learn; the programs printed in the tutorials run."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import tce
from shared import ROOT, compiler


def test_the_return_on_a_gymnasium_environment_rises(tmp_path) -> None:
    pytest.importorskip("gymnasium")
    script = ROOT / "examples" / "python" / "train_gymnasium.py"
    environment = {**os.environ, "PYTHONPATH": str(Path(tce.__file__).parents[1])}
    result = subprocess.run(
        [sys.executable, str(script), "--iterations", "40"], cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    found = re.search(r"first five iterations (\S+), of the last five (\S+)$", result.stdout.strip())
    assert found is not None, result.stdout
    first, last = (float(number) for number in found.groups())
    # returns are negative; measured: -600 to -400, seeds 1 to 3
    assert first < -500.0 and last > 0.8 * first


def blocks(page: str, language: str) -> list:
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    found = re.findall(rf"^```{language}\n(.*?)^```", text, flags=re.S | re.M)
    assert found, f"{page} prints no {language}"
    return [pytest.param(block, id=f"{page}-{i}") for i, block in enumerate(found)]


@pytest.mark.parametrize("code", blocks("tutorial-python.md", "python"))
def test_the_python_of_the_tutorial_runs(code, tmp_path) -> None:
    environment = {**os.environ, "PYTHONPATH": str(Path(tce.__file__).parents[1])}
    result = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr


@pytest.mark.parametrize("code", blocks("tutorial-c.md", "c"))
def test_the_c_of_the_tutorial_runs(code, tmp_path) -> None:
    cc = compiler(os.environ.get("CC", ""), "cc", "gcc", "clang")
    library = Path(tce._library.path).resolve()
    (tmp_path / "main.c").write_text(code)
    (tmp_path / "libtce.so.0").symlink_to(library)
    subprocess.run(
        [cc, "-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Werror", f"-I{ROOT / 'include'}", "-o", str(tmp_path / "main"),
         str(tmp_path / "main.c"), str(library)], check=True)
    result = subprocess.run(
        [str(tmp_path / "main")], env={**os.environ, "LD_LIBRARY_PATH": str(tmp_path)}, capture_output=True, text=True)
    assert result.returncode == 0, result.stdout + result.stderr


@pytest.mark.parametrize("file", sorted((ROOT / "examples").glob("[0-9]*.c")), ids=lambda file: file.name)
def test_a_numbered_example_is_short_and_says_how_to_run_it(file) -> None:
    lines = file.read_text(encoding="utf-8").splitlines()
    # the one with a whole training loop may be twice as long
    assert len(lines) < (200 if file.name.startswith("04") else 100)
    assert lines[0] == "/*" and any("Run: " in line for line in lines[1:3])
    assert max(map(len, lines)) <= 100
