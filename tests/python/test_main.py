"""`python -m tce` is the program tce."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import tce

PACKAGE = Path(tce.__file__).parent

PROGRAM = """#!/bin/sh
echo "arguments: $*"
echo "python: $TCE_PYTHON"
exit 7
"""


def run(*arguments: str, **variables: Any) -> "subprocess.CompletedProcess[str]":
    environment = {"PYTHONPATH": str(PACKAGE.parent), "PATH": "/usr/bin:/bin", **variables}
    if "TCE_LIBRARY" in os.environ:
        environment["TCE_LIBRARY"] = os.environ["TCE_LIBRARY"]
    return subprocess.run(
        [sys.executable, "-m", "tce", *arguments], env=environment, capture_output=True, text=True, cwd="/")


def make_program(path: Path) -> Path:
    path.write_text(PROGRAM)
    path.chmod(0o755)
    return path


def test_arguments_and_exit_status_are_the_programs(tmp_path) -> None:
    result = run("train", "reacher5/tce", "--seed", "3", TCE_PROGRAM=str(make_program(tmp_path / "other")))
    assert result.returncode == 7, result.stderr
    lines = result.stdout.splitlines()
    assert lines == ["arguments: train reacher5/tce --seed 3", f"python: {sys.executable}"]


def test_the_program_is_found_on_the_path_last(tmp_path) -> None:
    make_program(tmp_path / "tce")
    result = run("--version", PATH=f"{tmp_path}:/usr/bin:/bin")
    # a program built in the checkout comes first
    assert result.stdout.startswith(("arguments: --version", "tce 0.")), result.stderr


def test_the_script_of_the_package_is_not_taken_for_the_program(tmp_path, monkeypatch) -> None:
    from tce.__main__ import places

    script = tmp_path / "tce"
    script.write_text(f"#!{sys.executable}\nimport sys\nfrom tce.__main__ import main\nsys.exit(main())\n")
    script.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert script not in places()
    make_program(script)
    assert script in places()


def test_a_missing_program_is_an_error_with_its_remedy(tmp_path) -> None:
    result = run("tasks", TCE_PROGRAM=str(tmp_path / "nothing"))
    assert result.returncode == 1
    assert str(tmp_path / "nothing") in result.stderr and "make program" in result.stderr


def test_a_program_that_does_not_start_is_an_error_with_its_remedy(tmp_path) -> None:
    broken = tmp_path / "tce"
    broken.write_bytes(b"\x7fELF not really")
    broken.chmod(0o755)
    result = run("tasks", TCE_PROGRAM=str(broken))
    assert result.returncode == 1
    assert str(broken) in result.stderr and "make program" in result.stderr


def test_a_bundled_program_gets_the_bundled_library(tmp_path) -> None:
    from tce.__main__ import environment

    variables = environment(PACKAGE / "bin" / "tce")
    assert variables["LD_LIBRARY_PATH"].split(os.pathsep)[0] == str(PACKAGE / "lib")
    assert environment(tmp_path / "tce").get("LD_LIBRARY_PATH") == os.environ.get("LD_LIBRARY_PATH")
