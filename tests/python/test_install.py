"""The package as pip makes it, and the environment variables that it reads."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import tce
from shared import ROOT

LIBRARY = Path(tce._library.path).resolve()


def python(code: str, **environment: str) -> "subprocess.CompletedProcess[str]":
    """A new interpreter outside the checkout."""
    kept = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "TCE_LIBRARY", "TCE_TASKS", "TCE_BLAS_THREADS")}
    return subprocess.run(
        [sys.executable, "-c", code], env={**kept, **environment}, cwd="/", capture_output=True, text=True)


def pip_wheel(source: Path, out: Path, **environment: str) -> zipfile.ZipFile:
    """The wheel that pip builds without network."""
    subprocess.run(
        [sys.executable, "-m", "pip", "wheel", "-q", "--disable-pip-version-check", "--no-index", "--no-deps", "--no-build-isolation",
         "-w", str(out), str(source)], env={**os.environ, **environment}, check=True)
    wheel, = out.glob("libtce-*.whl")
    assert wheel.name.startswith(f"libtce-{tce.__version__}-py3-none-linux")
    return zipfile.ZipFile(wheel)


def test_the_wheel_holds_its_own_library_and_nothing_of_the_checkout(tmp_path) -> None:
    wheel = pip_wheel(ROOT / "bindings" / "python", tmp_path)
    wheel.extractall(tmp_path / "site")
    names = [name[len("tce/"):] for name in wheel.namelist()]
    assert "py.typed" in names and any(name.endswith("/licenses/LICENSE") for name in names)
    result = python(
        "import tce, numpy as np; print(tce._library.path);"
        "print(tce.ProDMP(n_dof=2).trajectory(np.ones((1, 12)), [0.5])[0].shape)",
        PYTHONPATH=str(tmp_path / "site"))
    assert result.stdout.split("\n")[:2] == [str(tmp_path / "site" / "tce" / "lib" / "libtce.so.0"), "(1, 1, 2)"], result.stderr
    for name in wheel.namelist():
        assert str(ROOT).encode() not in wheel.read(name), name
    # the program and its tasks came along, where what they need is there; pip does not keep the right to execute in a zip
    if "bin/tce" in names:
        (tmp_path / "site" / "tce" / "bin" / "tce").chmod(0o755)
        environment = {**os.environ, "PYTHONPATH": str(tmp_path / "site")}
        for name in ("TCE_PROGRAM", "TCE_TASKS", "TCE_LIBRARY", "TCE_TRAIN"):
            environment.pop(name, None)
        listed = subprocess.run([sys.executable, "-m", "tce", "tasks"], env=environment, cwd=tmp_path, capture_output=True, text=True)
        assert listed.returncode == 0 and "\npendulum " in listed.stdout, listed.stderr
        assert python("import tce; print(tce.find_tasks())", PYTHONPATH=str(tmp_path / "site")).stdout.strip() == str(
            tmp_path / "site" / "tce" / "bin" / "libtce_tasks.so")
    # nothing is left behind in the checkout
    assert not (ROOT / "bindings" / "python" / "build").exists()
    assert not list((ROOT / "bindings" / "python").glob("*.egg-info"))


def test_a_source_distribution_has_what_it_is_built_from(tmp_path) -> None:
    """Here the library alone; `make check-sdist` builds all of it."""
    subprocess.run(
        [sys.executable, "-c", f"from setuptools import build_meta; build_meta.build_sdist({str(tmp_path)!r})"],
        cwd=ROOT / "bindings" / "python", stdout=subprocess.DEVNULL, check=True)
    source, = tmp_path.glob("libtce-*.tar.gz")
    wheel = pip_wheel(source, tmp_path / "wheel", TCE_BUNDLE_PROGRAM="none")
    assert "tce/lib/libtce.so.0" in wheel.namelist() and "tce/bin/tce" not in wheel.namelist()


def test_without_a_library_the_error_says_what_was_tried() -> None:
    result = python("import tce", PYTHONPATH=str(ROOT / "bindings" / "python"), TCE_LIBRARY="/nowhere/libtce.so.0")
    if result.returncode == 0:
        pytest.skip("the system has a libtce")
    assert "/nowhere/libtce.so.0" in result.stderr and "TCE_LIBRARY" in result.stderr


def test_another_library_is_refused() -> None:
    import ctypes.util

    other = ctypes.util.find_library("m")
    result = python(
        "import ctypes; ctypes.CDLL = (lambda load: lambda name: load('%s'))(ctypes.CDLL); import tce" % other,
        PYTHONPATH=str(ROOT / "bindings" / "python"))
    assert result.returncode != 0 and "it is not the library of this package" in result.stderr


@pytest.mark.parametrize("asked, threads", [(None, "1"), ("2", "2")])
def test_blas_threads_on_import(asked, threads) -> None:
    environment = {"PYTHONPATH": str(ROOT / "bindings" / "python"), "TCE_LIBRARY": str(LIBRARY)}
    if asked is not None:
        environment["TCE_BLAS_THREADS"] = asked
    assert python("import tce; print(tce.blas_threads())", **environment).stdout.strip() == threads


def test_import_warns_of_slow_kernels_unless_they_were_chosen() -> None:
    show = "import tce; print(tce.better_blas_kernels())"
    environment = {"PYTHONPATH": str(ROOT / "bindings" / "python"), "TCE_LIBRARY": str(LIBRARY)}
    found = python(show, **environment)
    assert ("OPENBLAS_CORETYPE=" in found.stderr) == (found.stdout.strip() != "None")
    chosen = python(show, OPENBLAS_CORETYPE="Nehalem", **environment)
    assert chosen.stdout.strip() == "None" and "OPENBLAS_CORETYPE" not in chosen.stderr


def test_gymnasium_is_imported_by_those_who_use_it_only() -> None:
    result = python(
        "import sys; sys.modules['gymnasium'] = None; import tce; print(tce.ProDMP().n_params)",
        PYTHONPATH=str(ROOT / "bindings" / "python"), TCE_LIBRARY=str(LIBRARY))
    assert result.stdout.strip() == "6", result.stderr


def test_old_kernels_are_replaced_by_loading_the_library_again() -> None:
    """On a processor that OpenBLAS does not know: here every choice of its own counts as old."""
    code = """
import os, tce._kernels as kernels, ctypes
{before}
name = os.environ["TCE_LIBRARY"]
library = ctypes.CDLL(name)
kernels.OLD_KERNELS = {{kernels.chosen(library)}}
kernels.processor_flags = lambda: {{"avx2", "fma"}}
kernels._ctypes.dlclose(library._handle)
print(kernels.chosen(kernels.load(name)), os.environ.get("OPENBLAS_CORETYPE"))
"""
    # the package itself would keep the library loaded
    load = "import sys, types; sys.modules['tce'] = package = types.ModuleType('tce'); package.__path__ = [{!r}]".format(
        str(ROOT / "bindings" / "python" / "tce"))
    environment = {"PYTHONPATH": str(ROOT / "bindings" / "python"), "TCE_LIBRARY": str(LIBRARY)}
    if tce.blas_kernels() in (None, "Haswell"):
        pytest.skip("no other kernels to choose")
    free = python(load + code.format(before=""), **environment)
    if "avx2" not in tce._kernels.processor_flags():
        pytest.skip("Haswell's kernels need AVX2")
    assert free.stdout.split() == ["Haswell", "Haswell"], free.stderr
    held = python(load + code.format(before="held = ctypes.CDLL(os.environ['TCE_LIBRARY'])"), **environment)
    assert held.stdout.split() == [tce.blas_kernels(), "None"], held.stderr


def test_torch_is_needed_by_its_module_alone() -> None:
    said = python("import sys; sys.modules['torch'] = None; import tce; print('imported'); import tce.torch",
                  PYTHONPATH=str(ROOT / "bindings" / "python"), TCE_LIBRARY=str(LIBRARY))
    assert said.stdout == "imported\n" and said.returncode == 1
    assert said.stderr.splitlines()[-1] == "ImportError: tce.torch needs the package torch: pip install 'libtce[torch]'"
