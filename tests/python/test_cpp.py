"""The C++ header: a program that uses every class, compiled as C++11 and run."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

import tce
from shared import ROOT, compiler


@pytest.mark.parametrize("cxx", ["g++", "clang++"])
def test_a_program_in_cpp(cxx, tasks, tmp_path) -> None:
    cxx = compiler(cxx)
    library = Path(tce._library.path).resolve()
    program = tmp_path / "program"
    subprocess.run(
        [cxx, "-std=c++11", "-Wall", "-Wextra", "-Wpedantic", "-Werror", f"-I{ROOT / 'include'}",
         f"-I{ROOT / 'bindings' / 'cpp'}", "-o", str(program), str(Path(__file__).parent / "cpp.cpp"), str(library),
         f"-Wl,-rpath,{library.parent}"], check=True)
    # the linker names the library by its soname: it has to be found under that name
    (tmp_path / "libtce.so.0").symlink_to(library)
    environment = {**os.environ, "LD_LIBRARY_PATH": str(tmp_path)}
    result = subprocess.run(
        [str(program), str(tasks), str(tmp_path / "store.safetensors")], env=environment, capture_output=True, text=True)
    assert result.returncode == 0, result.stdout + result.stderr
