"""Where MuJoCo is missing: what works without it, where it is found, and what is said."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Dict

import pytest

from shared import ROOT, compiler

MUJOCO = "libmujoco.so.9.8.7"


@pytest.fixture(scope="module")
def needy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a task library that needs a MuJoCo which no folder of the system has, and that MuJoCo in site/mujoco."""
    folder = tmp_path_factory.mktemp("needy")
    cc = compiler(os.environ.get("CC", ""), "cc", "gcc", "clang")
    package = folder / "site" / "mujoco"
    package.mkdir(parents=True)
    # that the package is imported is not wanted: it takes a second
    (package / "__init__.py").write_text("raise ImportError('mujoco was imported')\n")
    (folder / "stub.c").write_text("int mj_version(void) { return 987; }\n")
    (folder / "link.c").write_text("int mj_version(void);\nint needs(void);\nint needs(void) { return mj_version(); }\n")
    subprocess.run([cc, "-shared", "-fPIC", f"-Wl,-soname,{MUJOCO}", "-o", str(package / MUJOCO), str(folder / "stub.c")], check=True)
    subprocess.run(
        [cc, "-std=c99", "-shared", "-fPIC", f"-I{ROOT / 'include'}", f"-I{ROOT / 'tests'}", "-o", str(folder / "libtce_tasks.so"),
         str(ROOT / "tests" / "toys" / "planes.c"), str(folder / "link.c"), str(package / MUJOCO)], check=True)
    return folder


def run(code: str, folder: Path, *places: Path) -> "subprocess.CompletedProcess[str]":
    environment: Dict[str, str] = {
        **os.environ, "TCE_TASKS": str(folder / "libtce_tasks.so"),
        "PYTHONPATH": os.pathsep.join([str(place) for place in places] + [os.environ.get("PYTHONPATH", "")])}
    return subprocess.run([sys.executable, "-W", "error", "-c", code], env=environment, capture_output=True, text=True, timeout=120)


def test_mujoco_is_taken_from_its_package_wherever_that_is(needy: Path) -> None:
    done = run("import tce; print(sorted(tce.TaskLibrary()))", needy, needy / "site")
    assert done.stdout == "['point', 'tracker']\n", done.stderr


def test_another_mujoco_is_named_with_the_one_to_install(needy: Path, tmp_path: Path) -> None:
    (tmp_path / "mujoco").mkdir()
    (tmp_path / "mujoco" / "__init__.py").touch()
    (tmp_path / "mujoco" / "libmujoco.so.4.0.0").touch()
    done = run("import tce; tce.TaskLibrary()", needy, tmp_path)
    assert "the tasks need libmujoco.so.9.8.7, and the installed package mujoco has libmujoco.so.4.0.0: pip install mujoco==9.8.7" in done.stderr


def test_without_mujoco_ids_are_registered_and_making_one_says_what_is_missing(needy: Path) -> None:
    done = run("""
import gymnasium, tce.gym
assert "tce/BoxPushingDense-v0" in gymnasium.registry and "tce_ProDMP/Reacher5-v0" in gymnasium.registry
for make in (lambda: gymnasium.make("tce/HopperJump-v0"), lambda: tce.train("box_pushing_dense")):
    try:
        make()
    except tce.LibraryError as reason:
        print(reason.message)
""", needy)
    assert done.returncode == 0 and done.stdout.count(MUJOCO) == 2, done.stderr


def test_without_mujoco_an_environment_of_gymnasium_is_trained_on(needy: Path, tmp_path: Path) -> None:
    done = run(f"""
import tce
config = {{"run.iterations": 1, "collect": {{"environments": 4, "steps": 50}}, "evaluate.episodes": 2, "policy.hidden": [8], "critic.hidden": [8]}}
run = tce.train("Pendulum-v1", "ppo", config, out={str(tmp_path / "run")!r}, progress=False)
print(run.iteration, run.agent().evaluate(2).lengths.tolist())
print(sorted(tce.load(run.folder).evaluate(2, task="Pendulum-v1").mean))
""", needy)
    assert done.stdout == "1 [200, 200]\n['length', 'return']\n", done.stderr
