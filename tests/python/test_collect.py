"""The tests themselves: all of them can be given to one call of pytest."""

from __future__ import annotations

import subprocess
import sys

from shared import ROOT


def test_both_folders_are_collected_in_one_call() -> None:
    folders = ["tests/python", "tests/trainer"]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "--collect-only", *folders], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        text=True, timeout=300)
    assert done.returncode == 0, done.stdout[-2000:]
    for folder in folders:
        assert f"{folder}/test_" in done.stdout
