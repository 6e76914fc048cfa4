"""Builds libtce with the project's Makefile and puts it into the package; with it the program tce, where `make program` has built it.

Works from a checkout of the project, where the Makefile is two folders up. Elsewhere set TCE_BUNDLE to a libtce.so.0
that is to be bundled, or to "none" for a package that finds the system's library. TCE_BUNDLE_PROGRAM names another folder
of the program than build/bin, or "none"; TCE_BUNDLE_LICENCES a folder with licences of what is inside.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from setuptools import Distribution, setup
from setuptools.command.bdist_wheel import bdist_wheel
from setuptools.command.build_py import build_py

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
SUFFIX = "dylib" if sys.platform == "darwin" else "so"
# as declare.py has read it from the headers
VERSION = ".".join(re.findall(r"^TCE_VERSION_\w+ = (\d+)$", (HERE / "tce" / "_declarations.py").read_text(), flags=re.M))
SONAME = "libtce.0.dylib" if SUFFIX == "dylib" else "libtce.so.0"


def build_library(folder: Path) -> Path:
    """Runs make with its own build folder; returns the library."""
    if not (ROOT / "Makefile").exists() or not (ROOT / "include" / "tce" / "tce.h").exists():
        raise SystemExit(
            f"tce: no libtce sources at {ROOT}. Install from a checkout of the project (pip install "
            "./bindings/python), or set TCE_BUNDLE to a built libtce.so.0, or TCE_BUNDLE=none to use the system's.")
    # make's own variables of a surrounding make would change what is built
    environment = {k: v for k, v in os.environ.items() if k not in ("MAKEFLAGS", "MAKELEVEL", "MFLAGS", "BUILD")}
    target = folder / "lib" / f"libtce.{SUFFIX}"
    command = ["make", "-C", str(ROOT), f"-j{os.cpu_count() or 1}", f"BUILD={folder}", str(target)]
    try:
        subprocess.run(command, env=environment, check=True)
    except FileNotFoundError:
        raise SystemExit("tce: building libtce needs make and a C compiler") from None
    except subprocess.CalledProcessError as fault:
        raise SystemExit(f"tce: libtce did not build (make returned {fault.returncode})") from None
    return target.resolve()


def add_program(package: Path) -> None:
    """Copies the program, its tasks and its settings files, where there are any."""
    named = os.environ.get("TCE_BUNDLE_PROGRAM", "")
    folder = Path(named or ROOT / "build" / "bin")
    if named == "none" or not (folder / "tce").exists():
        return
    (package / "bin").mkdir(parents=True, exist_ok=True)
    for name in ("tce", f"libtce_train.{SUFFIX}", f"libtce_tasks.{SUFFIX}", f"libtce_tasks_mujoco.{SUFFIX}"):
        if (folder / name).exists():
            shutil.copy(folder / name, package / "bin" / name)
    share = package / "share" / "tce"
    configs = ROOT / "examples" / "configs"
    if configs.exists():
        shutil.copytree(configs, share / "configs", dirs_exist_ok=True)
    versions = ROOT / "examples" / "setup" / "versions"
    if versions.exists():
        shutil.copy(versions, share / "versions")
    licences = os.environ.get("TCE_BUNDLE_LICENCES")
    if licences:
        shutil.copytree(licences, share / "licences", dirs_exist_ok=True)


class BuildWithLibrary(build_py):
    """build_py that adds lib/libtce.so.0 to the package, and bin/tce."""

    def run(self) -> None:
        super().run()
        bundle = os.environ.get("TCE_BUNDLE", "")
        if bundle == "none" or self.editable_mode:
            return
        target = Path(self.build_lib) / "tce" / "lib" / SONAME
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix="tce-build-") as folder:
            shutil.copyfile(Path(bundle) if bundle else build_library(Path(folder)), target)
        target.chmod(0o755)
        add_program(target.parents[1])


class BinaryDistribution(Distribution):
    """A wheel with machine code in it."""

    def has_ext_modules(self) -> bool:
        return True


class AnyPython(bdist_wheel):
    """The library is called through ctypes: one wheel serves every Python 3."""

    def get_tag(self) -> "tuple[str, str, str]":
        return ("py3", "none", super().get_tag()[2])


# nothing is left behind in the checkout
with tempfile.TemporaryDirectory(prefix="tce-wheel-") as scratch:
    setup(
        version=VERSION,
        distclass=BinaryDistribution,
        cmdclass={"build_py": BuildWithLibrary, "bdist_wheel": AnyPython},
        options={"build": {"build_base": scratch}, "egg_info": {"egg_base": scratch}},
    )
