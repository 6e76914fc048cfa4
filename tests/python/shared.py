"""What the tests share: case files, comparison, a compiler, programs in an interpreter of their own."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any, List

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]
GOLDEN = Path(os.environ.get("TCE_GOLDEN", ROOT / "tests" / "golden"))


# of programs that run in an interpreter of their own, where a crash or a hang is a failure like any other
START = """
import copy, faulthandler, gc, os, signal, sys, threading, time
faulthandler.dump_traceback_later(40, exit=True)
import numpy as np
import tce

class Line(tce.Env):
    spec = tce.EnvSpec(n_obs=1, n_dof=1, n_steps=1000000, dt=0.1, n_action=1)
    def __init__(self, settings=None):
        pass
    def reset(self, random):
        return [0.0], [0.0], [0.0]
    def step(self, pos, vel):
        return pos, 0.0
    def step_action(self, action):
        return action, 0.0

def run(rollout, T=5):
    path = np.zeros((rollout.n_envs, T, 1))
    return rollout.run(path, path)

def interrupted(delay, function, *arguments):
    # seconds until a KeyboardInterrupt, with Ctrl-C pressed after a delay
    start = time.monotonic()
    try:
        threading.Timer(delay, os.kill, (os.getpid(), signal.SIGINT)).start()
        function(*arguments)
    except KeyboardInterrupt:
        return time.monotonic() - start
    raise AssertionError("no KeyboardInterrupt")
"""


def python(program: str, *arguments: object) -> str:
    """What a program after START prints; its failure fails the test."""
    result = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", START + textwrap.dedent(program), *map(str, arguments)], stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, timeout=60, text=True)
    assert result.returncode == 0 and not result.stderr, result.stderr
    return result.stdout


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
