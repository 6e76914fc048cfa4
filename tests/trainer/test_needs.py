"""What make says on a machine that lacks something: what, and the line to type; and that it installs nothing by itself."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import Dict

import pytest

from running import ROOT, SETUP


def needs(*arguments: str, path: str = os.environ["PATH"], setup: Path = SETUP) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(["/bin/sh", str(setup / "needs.sh"), *arguments], env={**os.environ, "PATH": path}, capture_output=True, text=True)


def folder_with(folder: Path, *commands: str, **scripts: str) -> str:
    """A folder for PATH, with links to these commands and with these scripts."""
    folder.mkdir()
    for name in commands:
        found = shutil.which(name)
        assert found, name
        (folder / name).symlink_to(found)
    for name, text in scripts.items():
        (folder / name.replace("_", "-")).write_text("#!/bin/sh\n" + text)
        (folder / name.replace("_", "-")).chmod(0o755)
    return str(folder)


def test_nothing_is_said_where_nothing_is_missing() -> None:
    result = needs("command:cc", "module:openblas", "header:xxhash.h", "python:ensurepip")
    assert (result.returncode, result.stdout, result.stderr) == (0, "", "")


def test_what_is_missing_is_named_with_the_line_of_this_system(tmp_path: Path) -> None:
    usual = ("awk", "dirname", "id", "grep")
    asked = ("module:yaml-0.1", "header:xxhash.h", "command:cmake", "module:zlib")
    # a pkg-config that knows zlib alone, and a compiler without headers
    there: Dict[str, str] = {"pkg_config": '[ "$2" = zlib ]', "cc": "exit 1"}
    debian = folder_with(tmp_path / "debian", *usual, apt_get="exit 9", **there)
    result = needs(*asked, path=debian)
    sudo = "" if os.geteuid() == 0 else "sudo "
    assert result.returncode == 1 and result.stderr == (
        "missing: the pkg-config module yaml-0.1 (Debian: libyaml-dev), the header xxhash.h (Debian: libxxhash-dev), "
        f"the command cmake (Debian: cmake). Type:  {sudo}apt-get install -y libyaml-dev libxxhash-dev cmake\n")
    fedora = folder_with(tmp_path / "fedora", *usual, dnf="exit 9", **there)
    assert needs(*asked, path=fedora).stderr.endswith(
        f"Type:  {sudo}dnf install 'pkgconfig(yaml-0.1)' /usr/include/xxhash.h /usr/bin/cmake\n")
    other = folder_with(tmp_path / "other", *usual, **there)
    for more in ([], ["--install"]):
        result = needs(*more, *asked, path=other)
        assert result.returncode == 1 and result.stderr.endswith("Install what this system calls these (with NO_DEPS=1 nothing is looked for)\n")


@pytest.mark.parametrize("target", ["needs-suites", "needs-train", "build/flags"])
def test_make_says_what_is_missing_and_installs_nothing(target: str, tmp_path: Path) -> None:
    folder = folder_with(tmp_path / "bin", pkg_config="exit 1", apt_get=f"touch {tmp_path}/called")
    env = {name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "MFLAGS", "NO_DEPS"))}
    env["PATH"] = folder + os.pathsep + env["PATH"]
    result = subprocess.run(["make", "-s", f"BUILD={tmp_path}/build", target.replace("build", f"{tmp_path}/build")], cwd=ROOT, env=env,
                            capture_output=True, text=True)
    assert result.returncode != 0 and "the pkg-config module lapacke (Debian: liblapacke-dev)" in result.stderr, result.stderr
    assert "apt-get install -y liblapacke-dev libopenblas-dev" in result.stderr
    assert not (tmp_path / "called").exists()


def test_make_deps_installs_as_root(tmp_path: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("needs root")
    folder = folder_with(tmp_path / "bin", apt_get=f'echo "$@" >>{tmp_path}/called')
    shutil.copytree(SETUP, tmp_path / "setup")
    with (tmp_path / "setup" / "packages").open("a") as packages:
        packages.write("module:libtce-none  libtce-not-there\n")
    result = needs("--install", "module:libtce-none", "module:zlib", path=folder + os.pathsep + os.environ["PATH"], setup=tmp_path / "setup")
    assert (result.returncode, result.stderr) == (0, "installing libtce-not-there\n")
    assert "install -y --no-install-recommends" in (tmp_path / "called").read_text()
    assert (tmp_path / "called").read_text().rstrip().endswith("libtce-not-there")


@pytest.mark.parametrize("target, folder, remedy", [("check-macos", "ZIG_VENV", "deps-macos"), ("wheel", "WHEEL_VENV", "deps-wheel")])
def test_what_is_no_target_of_deps_names_the_one_that_installs(target: str, folder: str, remedy: str, tmp_path: Path) -> None:
    env = {name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "MFLAGS", "NO_DEPS"))}
    result = subprocess.run(["make", "-s", f"{folder}={tmp_path}/venv", target], cwd=ROOT, env=env, capture_output=True, text=True)
    assert result.returncode != 0 and result.stderr.startswith(f"{tmp_path}/venv lacks the wheels of "), result.stderr
    assert f"Type:  make {remedy}\n" in result.stderr
    assert not (tmp_path / "venv").exists()
