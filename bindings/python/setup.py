"""Builds libtce with the project's Makefile and puts it into the package; with it the program tce and its tasks.

Works from a checkout of the project, where the Makefile is two folders up, and from a source distribution, which has it in c/. The
program is built where libyaml and zlib are, the tasks on MuJoCo where MuJoCo is: in MUJOCO_DIR, or in deps/ of the checkout. Everything
is compiled for its place in the package, so that nothing of the checkout's folders is in it.

To bundle what is built already, set TCE_BUNDLE to a libtce.so.0, TCE_BUNDLE_PROGRAM to the folder of the program, and
TCE_BUNDLE_LICENCES to one with licences of what is inside. TCE_BUNDLE=none makes a package that finds the system's library, and
TCE_BUNDLE_PROGRAM=none one without the program.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from setuptools import Distribution, setup
from setuptools.command.build_py import build_py
from setuptools.command.sdist import sdist

try:
    from setuptools.command.bdist_wheel import bdist_wheel
except ImportError:  # before setuptools 70
    from wheel.bdist_wheel import bdist_wheel

HERE = Path(__file__).resolve().parent
ROOT = HERE / "c" if (HERE / "c").exists() else HERE.parent.parent
# of the project's folder, what building needs
SOURCES = ["Makefile", "LICENSE", "src", "include", "pkgconfig", "examples/examples.mk", "examples/configs", "examples/setup",
           "examples/tasks", "examples/trainer", "docs/runs"]
SUFFIX = "dylib" if sys.platform == "darwin" else "so"
# as declare.py has read it from the headers
VERSION = ".".join(re.findall(r"^TCE_VERSION_\w+ = (\d+)$", (HERE / "tce" / "_declarations.py").read_text(), flags=re.M))
SONAME = "libtce.0.dylib" if SUFFIX == "dylib" else "libtce.so.0"
PROGRAMS = ["tce", f"libtce_train.{SUFFIX}", f"libtce_tasks.{SUFFIX}", f"libtce_tasks_mujoco.{SUFFIX}"]


def has_program_needs() -> bool:
    """Whether what the program is linked with is here."""
    if os.environ.get("TCE_BUNDLE_PROGRAM") == "none":
        return False
    try:
        found = subprocess.run([os.environ.get("PKG_CONFIG", "pkg-config"), "--exists", "yaml-0.1", "zlib"]).returncode == 0
    except FileNotFoundError:
        found = False
    if not found:
        print("tce: libyaml or zlib is not installed, so the package has no program and no tasks", file=sys.stderr)
    return found


def mujoco_folder() -> str:
    """MuJoCo with its headers, or "none"."""
    versions = (ROOT / "examples" / "setup" / "versions").read_text()
    version = re.search(r"^mujoco (\S+)", versions, flags=re.M)
    own = ROOT / "deps" / f"mujoco-{version.group(1) if version else ''}"
    found = os.environ.get("MUJOCO_DIR") or (str(own) if own.exists() else "none")
    if found == "none":
        print("tce: without MuJoCo (MUJOCO_DIR) the package has the tasks without simulator alone", file=sys.stderr)
    return found


def make(folder: Path, *arguments: str) -> None:
    """Runs make with its own build folder."""
    if not (ROOT / "Makefile").exists() or not (ROOT / "include" / "tce" / "tce.h").exists():
        raise SystemExit(
            f"tce: no libtce sources at {ROOT}. Install from a checkout of the project (pip install "
            "./bindings/python), or set TCE_BUNDLE to a built libtce.so.0, or TCE_BUNDLE=none to use the system's.")
    # make's own variables of a surrounding make would change what is built
    environment = {k: v for k, v in os.environ.items() if k not in ("MAKEFLAGS", "MAKELEVEL", "MFLAGS", "BUILD")}
    # no debugging information, no path of the models: these name folders of this machine
    command = ["make", "-C", str(ROOT), f"-j{os.cpu_count() or 1}", f"BUILD={folder}", "CFLAGS=", "LDFLAGS=-s", "TASKS_DEPS=", *arguments]
    try:
        subprocess.run(command, env=environment, check=True)
    except FileNotFoundError:
        raise SystemExit("tce: building libtce needs make and a C compiler") from None
    except subprocess.CalledProcessError as fault:
        raise SystemExit(f"tce: libtce did not build (make returned {fault.returncode})") from None


def build(folder: Path, package: Path) -> None:
    """The library into package/lib; the program and its tasks, which find MuJoCo's package beside this one, into package/bin."""
    with_program = has_program_needs()
    if with_program:
        make(folder, f"MUJOCO_DIR={mujoco_folder()}", "MUJOCO_RPATH=$$ORIGIN/../../mujoco", "program")
    else:
        make(folder, str(folder / "lib" / f"libtce.{SUFFIX}"))
    add_library(package, folder / "lib" / f"libtce.{SUFFIX}")
    if with_program:
        add_program(package, folder / "bin")


def add_library(package: Path, library: Path) -> None:
    (package / "lib").mkdir(parents=True, exist_ok=True)
    shutil.copyfile(library, package / "lib" / SONAME)
    (package / "lib" / SONAME).chmod(0o755)


def add_program(package: Path, folder: Path) -> None:
    """Copies the program with its libraries, and the settings files."""
    (package / "bin").mkdir(parents=True, exist_ok=True)
    for name in PROGRAMS:
        if (folder / name).exists():
            shutil.copy(folder / name, package / "bin" / name)
    share = package / "share" / "tce"
    shutil.copytree(ROOT / "examples" / "configs", share / "configs", dirs_exist_ok=True)
    # trained policies, without the numbers of their training
    shutil.copytree(ROOT / "docs" / "runs", share / "runs", dirs_exist_ok=True, ignore=shutil.ignore_patterns("progress.csv"))
    shutil.copy(ROOT / "examples" / "setup" / "versions", share / "versions")
    licences = os.environ.get("TCE_BUNDLE_LICENCES")
    if licences:
        shutil.copytree(licences, share / "licences", dirs_exist_ok=True)


class BuildWithLibrary(build_py):
    """build_py that adds lib/libtce.so.0 to the package, and bin/tce."""

    def run(self) -> None:
        super().run()
        library, program = os.environ.get("TCE_BUNDLE"), os.environ.get("TCE_BUNDLE_PROGRAM")
        if library == "none" or getattr(self, "editable_mode", False):
            return
        package = Path(self.build_lib) / "tce"
        if library:
            add_library(package, Path(library))
            if program and program != "none":
                add_program(package, Path(program))
            return
        with tempfile.TemporaryDirectory(prefix="tce-build-") as folder:
            build(Path(folder), package)


class WithSources(sdist):
    """A source distribution that has the C sources in c/."""

    def make_release_tree(self, base_dir: str, files: "list[str]") -> None:
        super().make_release_tree(base_dir, files)
        for name in SOURCES:
            source, target = ROOT / name, Path(base_dir) / "c" / name
            target.parent.mkdir(parents=True, exist_ok=True)
            if source.is_dir():
                shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__", "progress.csv"))
            else:
                shutil.copy(source, target)


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
        license="MIT",
        cmdclass={"build_py": BuildWithLibrary, "bdist_wheel": AnyPython, "sdist": WithSources},
        options={"build": {"build_base": scratch}, "egg_info": {"egg_base": scratch}},
    )
