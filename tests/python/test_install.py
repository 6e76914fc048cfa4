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


def test_the_wheel_holds_its_own_library(tmp_path) -> None:
    subprocess.run(
        [sys.executable, "-m", "pip", "wheel", "-q", "--disable-pip-version-check", "--no-deps", "--no-build-isolation",
         "-w", str(tmp_path), str(ROOT / "bindings" / "python")], check=True)
    wheel, = tmp_path.glob("libtce-*.whl")
    assert wheel.name.startswith(f"libtce-{tce.__version__}-py3-none-linux")
    zipfile.ZipFile(wheel).extractall(tmp_path / "site")
    assert (tmp_path / "site" / "tce" / "py.typed").exists()
    result = python(
        "import tce, numpy as np; print(tce._library.path);"
        "print(tce.ProDMP(n_dof=2).trajectory(np.ones((1, 12)), [0.5])[0].shape)",
        PYTHONPATH=str(tmp_path / "site"))
    assert result.stdout.split("\n")[:2] == [str(tmp_path / "site" / "tce" / "lib" / "libtce.so.0"), "(1, 1, 2)"], result.stderr
    # where the program was built before, its tasks came along and find their models
    if (ROOT / "build" / "bin" / "tce").exists():
        result = python(
            "import gymnasium, tce; print(tce.find_tasks()); print(gymnasium.make('tce.gym:tce/HopperJump-v0').reset(seed=1)[0].shape)",
            PYTHONPATH=str(tmp_path / "site"))
        assert result.stdout.split("\n")[:2] == [str(tmp_path / "site" / "tce" / "bin" / "libtce_tasks.so"), "(16,)"], result.stderr
    # nothing is left behind in the checkout
    assert not (ROOT / "bindings" / "python" / "build").exists()
    assert not list((ROOT / "bindings" / "python").glob("*.egg-info"))


def test_a_checkout_has_its_library_in_lib(tmp_path) -> None:
    package = tmp_path / "bindings" / "python" / "tce"
    shutil.copytree(Path(tce.__file__).parent, package, ignore=shutil.ignore_patterns("lib", "bin", "__pycache__"))
    library = tmp_path / "lib" / tce._library.SONAME
    library.parent.mkdir()
    shutil.copy(LIBRARY, library)
    result = python("import tce; print(tce._library.path)", PYTHONPATH=str(package.parent))
    assert result.stdout.strip() == str(library), result.stderr


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
