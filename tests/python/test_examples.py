"""The scripts of examples/python run, and learn."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import tce
from conftest import ROOT


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
