"""Where MuJoCo is missing: the tasks without simulator work, and the others say what to install."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from running import PROGRAM, ROOT, environment

LIBTCE = Path(os.environ.get("TCE_LIBRARY", ROOT / "lib" / "libtce.so"))
REMEDY = "pip install 'libtce[tasks]'"


def hide_mujoco(library: Path) -> None:
    """Names another folder, of as many letters, where a library looks for MuJoCo."""
    shown = subprocess.run(["readelf", "-d", str(library)], capture_output=True, text=True, check=True).stdout
    found = next(path for path in re.findall(r"\[(.*)\]", shown) if "mujoco" in path and path.endswith("/lib")).encode()
    library.write_bytes(library.read_bytes().replace(found, found.replace(b"mujoco", b"absent")))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The program with its libraries, which do not find MuJoCo."""
    out = tmp_path_factory.mktemp("no_mujoco")
    for file in (PROGRAM, *PROGRAM.parent.glob("libtce_t*.so")):
        shutil.copy(file, out)
    hide_mujoco(out / "libtce_tasks_mujoco.so")
    return out


def variables(folder: Path) -> "dict[str, str]":
    return {**environment(), "LD_LIBRARY_PATH": str(LIBTCE.parent), "TCE_TASKS": str(folder / "libtce_tasks.so"),
            "TCE_LIBRARY": str(LIBTCE), "PYTHONPATH": str(ROOT / "bindings" / "python")}


def tce(folder: Path, *arguments: object) -> "subprocess.CompletedProcess[str]":
    return subprocess.run([str(folder / "tce"), *map(str, arguments)], env=variables(folder), capture_output=True, text=True)


def test_tasks_are_listed_and_the_reason_is_said_once(folder) -> None:
    done = tce(folder, "tasks")
    assert done.returncode == 0, done.stderr
    rows = {line.split()[0]: line for line in done.stdout.splitlines()}
    assert rows["pendulum"].split()[1:6] == ["3", "0", "1", "200", "0.05"]
    assert "not available: " in rows["reacher5"] and "libmujoco" in rows["reacher5"] and REMEDY in rows["reacher5"]
    assert rows["metaworld_reach"].endswith("not available, as above")
    assert done.stdout.count(REMEDY) == 1


def test_a_task_without_simulator_is_trained(folder, tmp_path) -> None:
    done = tce(folder, "train", ROOT / "examples" / "configs" / "context" / "sac_mp.yaml", "run.iterations=1", "--out", tmp_path / "run")
    assert done.returncode == 0, done.stderr
    done = tce(folder, "eval", tmp_path / "run", "--episodes", 4)
    assert done.returncode == 0, done.stderr


def test_a_task_on_mujoco_says_what_to_install(folder, tmp_path) -> None:
    done = tce(folder, "train", ROOT / "examples" / "configs" / "reacher5" / "tce.yaml", "--out", tmp_path / "run")
    assert done.returncode == 1
    assert "reacher5" in done.stderr and "libmujoco" in done.stderr and REMEDY in done.stderr


def test_ids_of_gymnasium_work_or_say_what_to_install(folder) -> None:
    code = """
import gymnasium, tce
print(gymnasium.make("tce.gym:tce/Pendulum-v0").reset(seed=1)[0].shape)
try:
    gymnasium.make("tce.gym:tce/Reacher5-v0")
except tce.TceError as fault:
    print(fault)
"""
    done = subprocess.run([sys.executable, "-W", "error", "-c", code], env=variables(folder), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    shape, said = done.stdout.splitlines()
    assert shape == "(3,)" and "libmujoco" in said and REMEDY in said


def test_a_library_of_another_version_is_not_taken(folder, tmp_path) -> None:
    """Whatever lies under the name: here one without any tasks."""
    for file in folder.iterdir():
        shutil.copy(file, tmp_path)
    shutil.copy(folder / "libtce_train.so", tmp_path / "libtce_tasks_mujoco.so")
    done = tce(tmp_path, "tasks")
    assert done.returncode == 0, done.stderr
    assert "libtce_tasks_mujoco.so is of another version of libtce" in done.stdout
