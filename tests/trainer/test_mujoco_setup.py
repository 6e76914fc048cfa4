"""Getting MuJoCo: messages when it is missing, of another version, not to be had or damaged; and the cache of compiled models."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from running import SETUP, versions

ROOT = Path(__file__).resolve().parents[2]
VERSION, TAGS = next(iter(versions("mujoco").items()))


def sh(script: str, *arguments: object) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(["sh", str(SETUP / script), *map(str, arguments)], capture_output=True, text=True)


def mujoco(folder: Path, number: str, library: bool = True) -> Path:
    """A folder that looks like a MuJoCo of a version."""
    (folder / "include" / "mujoco").mkdir(parents=True)
    (folder / "lib").mkdir()
    (folder / "include" / "mujoco" / "mujoco.h").write_text(f"#define mjVERSION_HEADER {number}\n")
    if library:
        (folder / "lib" / "libmujoco.so").touch()
    return folder


@pytest.mark.parametrize("number", ["330", "337", "3017000"])
def test_a_folder_of_mujoco_3_is_taken(tmp_path, number) -> None:
    result = sh("mujoco_check.sh", mujoco(tmp_path / "m", number))
    assert (result.returncode, result.stderr) == (0, "")


def test_a_missing_mujoco_is_said_with_the_remedy(tmp_path) -> None:
    for folder in (tmp_path / "nothing", mujoco(tmp_path / "headers", "330", library=False)):
        result = sh("mujoco_check.sh", folder)
        assert result.returncode == 1
        assert str(folder) in result.stderr and "make deps" in result.stderr and "MUJOCO_DIR=" in result.stderr


@pytest.mark.parametrize("number", ["233", "4000000", ""])
def test_another_version_is_said_with_the_remedy(tmp_path, number) -> None:
    result = sh("mujoco_check.sh", mujoco(tmp_path / "m", number))
    assert result.returncode == 1
    assert "MuJoCo 3.x" in result.stderr and "MUJOCO_VERSION=" in result.stderr


def test_a_version_that_cannot_work_is_refused_before_the_download(tmp_path) -> None:
    result = sh("mujoco.sh", "2.3.3", tmp_path / "m", "/bin/false")
    assert result.returncode == 1 and "MUJOCO_VERSION=2.3.3" in result.stderr and "3.x" in result.stderr


def python_that(tmp_path: Path, does: str) -> Path:
    """Stands for a Python whose pip does something; $folder is where wheels go."""
    path = tmp_path / "python"
    path.write_text("#!/bin/sh\nwhile [ $# -gt 1 ]; do [ \"$1\" = -d ] && folder=$2; shift; done\n" + does + "\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


def test_a_failed_download_is_said_and_leaves_what_was_there(tmp_path) -> None:
    there = mujoco(tmp_path / "m", "330")
    result = sh("mujoco.sh", "3.99.0", there, python_that(tmp_path, "exit 1"))
    assert result.returncode == 1
    assert "mujoco==3.99.0" in result.stderr and "MUJOCO_DIR=" in result.stderr
    assert (there / "lib" / "libmujoco.so").exists() and not list(tmp_path.glob("m.part.*"))


def test_a_wheel_with_another_checksum_is_refused(tmp_path) -> None:
    name = f"mujoco-{VERSION}-{next(tag for tag in TAGS if tag.endswith(os.uname().machine))}.whl"
    result = sh("mujoco.sh", VERSION, tmp_path / "m", python_that(tmp_path, f'echo damaged >"$folder/{name}"'))
    assert result.returncode == 1
    assert "checksum" in result.stderr and "setup/versions says" in result.stderr
    assert not (tmp_path / "m").exists() and not list(tmp_path.glob("m.part.*"))


def test_compiled_models_are_kept_by_version(tmp_path) -> None:
    program = Path(os.environ.get("TCE_PROGRAM", ROOT / "build" / "bin" / "tce"))
    models = ROOT / "deps" / "fancy_gym"
    if not program.exists() or not models.exists():
        pytest.skip("make program deps-models first")
    (tmp_path / "fancy_gym").symlink_to(models)
    command = [str(program), "bench", "--tasks", "--task", "hopper_jump", "--iterations", "1"]
    shown = subprocess.run(command, env={**os.environ, "TCE_MODELS": str(tmp_path)}, capture_output=True, text=True, check=True).stdout
    version = shown.split("MuJoCo ")[1].split(",")[0]
    kept, = (tmp_path / "cache").iterdir()
    assert kept.name.startswith(f"hopper_jump.xml-{version}-")
    # one of another version is not touched, not read
    other = kept.with_name(kept.name.replace(version, "3.0.0"))
    kept.rename(other)
    before = other.stat().st_mtime_ns
    subprocess.run(command, env={**os.environ, "TCE_MODELS": str(tmp_path)}, capture_output=True, check=True)
    assert kept.exists() and other.stat().st_mtime_ns == before


# ---- where models are looked for -----------------------------------------------------------------

ON_MUJOCO = "libtce_tasks_mujoco.so"
HOPPER = Path("fancy_gym/envs/mujoco/hopper_jump/assets/hopper_jump.xml")

MAKE = """
import os, sys, tce
library = tce.TaskLibrary(sys.argv[1])
os.chdir(sys.argv[2])
library["hopper_jump"].create()
"""


def copied_library(folder: Path) -> Path:
    """Copies of the task libraries, in a folder with a model that no task can use in deps/ beside them."""
    library = Path(os.environ.get("TCE_TASKS", ROOT / "build" / "bin" / "libtce_tasks.so"))
    if not library.exists() or not (ROOT / "deps" / HOPPER).exists():
        pytest.skip("make program deps-models first")
    (folder / "deps" / HOPPER).parent.mkdir(parents=True)
    (folder / "deps" / HOPPER).write_text("<mujoco/>")
    shutil.copy(library.with_name(ON_MUJOCO), folder)
    return Path(shutil.copy(library, folder / "tasks.so"))


def make_task(library: object, folder: Path, **options: object) -> "subprocess.CompletedProcess[str]":
    """Opens the library, goes into a folder, and makes a task there."""
    env = {name: value for name, value in os.environ.items() if name != "TCE_MODELS"}
    libtce = Path(os.environ.get("TCE_LIBRARY", ROOT / "lib" / "libtce.so"))
    env.update(LD_LIBRARY_PATH=str(libtce.parent), TCE_LIBRARY=str(libtce), PYTHONPATH=str(ROOT / "bindings" / "python"))
    return subprocess.run([sys.executable, "-c", MAKE, str(library), str(folder)], env=env, capture_output=True, text=True, **options)


def test_models_of_another_user_are_not_taken(tmp_path) -> None:
    library = copied_library(tmp_path)
    # beside the library, and whose it is
    result = make_task(library, tmp_path)
    assert result.returncode == 1 and "another file than" in result.stderr, result.stderr
    if os.geteuid() != 0:
        pytest.skip("only root can give a folder away")
    os.chown(tmp_path / "deps", 65534, 65534)
    result = make_task(library, tmp_path)
    assert result.returncode == 0, result.stderr  # those of the checkout that the library was built in


def test_the_folder_of_the_library_does_not_change_with_the_working_directory(tmp_path) -> None:
    copied_library(tmp_path / "planted")
    (tmp_path / "real").mkdir()
    for name in ("tasks.so", ON_MUJOCO):
        shutil.copy(tmp_path / "planted" / name, tmp_path / "real")
    result = make_task("./tasks.so", tmp_path / "planted", cwd=tmp_path / "real")
    assert result.returncode == 0, result.stderr
