"""A host program with a decimal comma: options of tasks, models and files are read and written as everywhere else."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

LOCALE = "de_DE.UTF-8"

# what the library and its tasks compute and write, as bytes; the host's locale comes first
HOST = """
import ctypes, locale, sys
locale.setlocale(locale.LC_ALL, sys.argv[1])
libc = ctypes.CDLL(None)
libc.strtod.restype = ctypes.c_double
print("half", libc.strtod(sys.argv[2].encode(), None))

import numpy as np
import tce

library = tce.TaskLibrary()
for name, options in (("point_via", "tolerance=0.25"), ("reacher5", "tolerance=2.5e-2 control_cost=0.125,goal_angle=45.5"), ("reacher5", None)):
    env = library[name].create(options)
    obs, pos, vel = env.reset(tce.Random(3))
    numbers = [obs]
    for _ in range(5):
        result = env.step(pos + 0.015625, vel)
        numbers += [result.obs, [result.reward]]
    print(name, np.concatenate(numbers).tobytes().hex(), env.metrics())

store = tce.Store()
mp = tce.ProDMP(n_dof=2, n_basis=3, tau=1.25, dt=0.02)
mp.save(store, "mp")
store["numbers"] = np.array([0.1, 2.5e-7])
store.save(sys.argv[3])
print(tce.MovementPrimitive.from_store(tce.Store.load(sys.argv[3]), "mp").trajectory(np.full((1, mp.n_params), 0.5), np.array([0.5]))[0].tobytes().hex())
"""


@pytest.fixture(scope="module")
def comma(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the German locale."""
    if shutil.which("localedef") is None:
        pytest.skip("no localedef: install the Debian packages libc-bin and locales")
    folder = tmp_path_factory.mktemp("locale")
    subprocess.run(["localedef", "-i", "de_DE", "-f", "UTF-8", str(folder / LOCALE)], check=True)
    return folder


def host(folder: Path, name: str, half: str, file: Path) -> str:
    environment = {**os.environ, "LOCPATH": str(folder), "TCE_MODEL_CACHE": "0"}
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", HOST, name, half, str(file)], env=environment, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_host_with_a_decimal_comma_gets_the_same_bytes(comma: Path, tmp_path: Path) -> None:
    plain = host(comma, "C", "0.5", tmp_path / "plain")
    german = host(comma, LOCALE, "0,5", tmp_path / "german")
    # the comma was really there
    assert plain.startswith("half 0.5\n") and german.startswith("half 0.5\n")
    assert german == plain
    assert (tmp_path / "german").read_bytes() == (tmp_path / "plain").read_bytes()
