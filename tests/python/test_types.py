"""What type checkers say in their strict modes: nothing about the package and the examples, and the right thing about mistakes.

mypy is here always, pyright in `make check-types`, which names it in TCE_PYRIGHT.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import List, Set

import pytest
from shared import ROOT

PACKAGE = ROOT / "bindings" / "python"
EXAMPLES = ROOT / "examples" / "python"
PYRIGHT = os.environ.get("TCE_PYRIGHT", "")
CHECKERS = ["mypy", *(["pyright"] if PYRIGHT else [])]

# each line that ends with "wrong" has one mistake, and no other line any
MISTAKES = '''
from typing import List

import numpy as np

import tce
import tce.gym

mp = tce.ProDMP(n_dof=2, n_basis=5, dt=0.01, basis="exact")
tce.ProDMP(n_dof=2, n_bases=5)  # wrong
tce.ProDMP(n_dof=2, basis="exakt")  # wrong
tce.ProDMP(n_dof="two")  # wrong
tce.ProMP(n_dof=2, phase="smoooth")  # wrong
pos, vel = mp.trajectory(np.zeros((3, mp.n_params)), [0.1, 0.2])
mp.trajectory(np.zeros((3, mp.n_params)), [0.1, 0.2], start_pos=None)  # wrong
shape: str = pos.shape  # wrong
projection = tce.Projection("kl", 3, 0.1, cov_bound=0.1, entropy="at_least")
tce.Projection("klr", 3, 0.1, 0.1)  # wrong
tce.Projection("kl", 3, 0.1, 0.1, entropy="first")  # wrong
policy = tce.Policy(n_obs=4, n_dims=3, form="full", hidden=[8], random=1)
tce.Policy(n_obs=4, n_dims=3, form="fulll", random=1)  # wrong
tce.Net(n_in=4, n_out=1, hidden=[8], activation="gelu", random=1)  # wrong
tce.segment.advantage(None, None, [[0, 1]], kind="values")  # wrong
names: List[str] = tce.gauss.log_prob(pos[0], pos[0], np.eye(2))  # wrong
controller = tce.gym.Controller(position=0, velocity=1, command="velocity")
tce.gym.Controller(position=0, velocity=1, command="speed")  # wrong
tce.train("reacher5", "tce", {"run.iterations": 1}, seed=1, out="runs/a", callback=lambda i, metrics: metrics["return"] > i)
tce.train("reacher5", "tcee")  # wrong
tce.train("reacher5", iterations=3)  # wrong
tce.train("reacher5", seed="1")  # wrong
agent = tce.load("runs/a")
agent.plan(np.zeros(3)).pos.sum()
agent.evaluate("all")  # wrong
'''


def mypy(files: List[Path], folder: Path) -> str:
    """Its errors, as FILE:LINE: error: ..., in the package too."""
    said = subprocess.run(
        [sys.executable, "-m", "mypy", "--config-file", str(PACKAGE / "pyproject.toml"), "--cache-dir", str(folder / "cache"), *map(str, files)],
        env={**os.environ, "MYPYPATH": f"{PACKAGE}:{EXAMPLES}"}, cwd=folder, capture_output=True, text=True)
    assert said.returncode in (0, 1) and not said.stderr, said.stdout + said.stderr
    return "".join(line + "\n" for line in said.stdout.splitlines() if ": error: " in line)


def pyright(files: List[Path], folder: Path) -> str:
    """The same, in these files alone."""
    settings = {"typeCheckingMode": "strict", "extraPaths": [str(PACKAGE), str(EXAMPLES)]}
    (folder / "pyrightconfig.json").write_text(json.dumps(settings), encoding="utf-8")
    for file in files:
        (folder / file.name).write_text(file.read_text(encoding="utf-8"), encoding="utf-8")
    said = subprocess.run(
        [PYRIGHT, "--pythonpath", sys.executable, "--outputjson", "--project", str(folder)], cwd=folder, capture_output=True, text=True)
    assert said.returncode in (0, 1), said.stdout + said.stderr
    report = json.loads(said.stdout)
    assert report["summary"]["filesAnalyzed"] == len(files)
    return "".join(
        f"{one['file']}:{one['range']['start']['line'] + 1}: error: {one['message'].splitlines()[0]}\n"
        for one in report["generalDiagnostics"] if one["severity"] == "error")


# one call for everything: most of its time goes to numpy's types
@pytest.mark.parametrize("checker", CHECKERS)
def test_mistakes_are_found_and_nothing_else(checker: str, tmp_path: Path) -> None:
    program = tmp_path / "mistakes.py"
    program.write_text(MISTAKES, encoding="utf-8")
    examples = sorted(EXAMPLES.glob("*.py"))
    said = mypy([*sorted((PACKAGE / "tce").glob("*.py")), *examples, program], tmp_path) if checker == "mypy" else pyright([*examples, program], tmp_path)
    found: Set[int] = {int(number) for number in re.findall(r"mistakes\.py:(\d+): error", said)}
    assert [line for line in said.splitlines() if "mistakes.py:" not in line] == []
    lines = MISTAKES.splitlines()
    assert {lines[number - 1] for number in found} == {line for line in lines if line.endswith("# wrong")}
