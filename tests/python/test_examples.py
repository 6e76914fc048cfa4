"""The scripts of examples/python run and learn; the numbered examples are short and say how they are run."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import tce
from shared import ROOT


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


@pytest.mark.parametrize("file", sorted((ROOT / "examples").glob("[0-9]*.c")), ids=lambda file: file.name)
def test_a_numbered_example_is_short_and_says_how_to_run_it(file) -> None:
    lines = file.read_text(encoding="utf-8").splitlines()
    # the one with a whole training loop may be twice as long
    assert len(lines) < (200 if file.name.startswith("07") else 100)
    assert lines[0] == "/*" and any("Run: " in line for line in lines[1:3])
    assert max(map(len, lines)) <= 100


def test_the_picture_of_exploration_is_drawn(tmp_path) -> None:
    pytest.importorskip("matplotlib")
    script = ROOT / "examples" / "python" / "exploration.py"
    environment = {**os.environ, "PYTHONPATH": str(Path(tce.__file__).parents[1])}
    result = subprocess.run([sys.executable, str(script), "exploration.png"], cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    assert (tmp_path / "exploration.png").read_bytes().startswith(b"\x89PNG")
