"""What `make` and its scripts say on a machine that reaches no package registry, one sentence with
the remedy and not pages of retries; and the hashes of wheels."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Dict

import pytest

from running import SETUP, versions

ROOT = Path(__file__).resolve().parents[2]

# nobody listens on this port
CLOSED = "http://127.0.0.1:1"


def offline(**more: object) -> Dict[str, str]:
    """The environment of a pip without network, whatever it is set to here."""
    kept = {name: value for name, value in os.environ.items()
            if not name.startswith(("PIP_", "MAKE", "MFLAGS", "NO_DEPS"))}
    kept.update(PIP_INDEX_URL=f"{CLOSED}/simple", PIP_CONFIG_FILE="/dev/null", PIP_RETRIES="1",
                no_proxy="127.0.0.1")
    return {**kept, **{name: str(value) for name, value in more.items()}}


def run(*command: object, env: Dict[str, str]) -> "subprocess.CompletedProcess[str]":
    return subprocess.run([str(word) for word in command], cwd=ROOT, env=env, capture_output=True,
                          text=True, timeout=120)


def empty_venv(folder: Path) -> Dict[str, str]:
    """A virtual environment without packages; what its Python must be told to have pip, which
    takes ten seconds to install."""
    import pip
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
    alone = folder / "alone"
    alone.mkdir()
    (alone / "pip").symlink_to(Path(pip.__file__).parent)
    return {"PYTHONPATH": str(alone)}


def check_said(result: "subprocess.CompletedProcess[str]", what: str) -> None:
    assert result.returncode != 0
    said = [line for line in result.stderr.splitlines()
            if not line.startswith(("make", "installing", "fetching"))]
    assert len(said) == 1, result.stderr
    assert said[0].startswith("this machine cannot reach the package registries, which have " + what)


def test_wheels_without_network(tmp_path: Path) -> None:
    env = offline(**empty_venv(tmp_path / "venv"))
    stamp = tmp_path / "venv" / "drawing"
    result = run("make", "-s", "deps-drawing", f"VENV={tmp_path / 'venv'}", env=env)
    check_said(result, "the wheels of tests/python/drawing.txt")
    assert "PIP_FIND_LINKS" in result.stderr and not stamp.exists()


@pytest.mark.parametrize("name, remedy", [
    ("mujoco", "MUJOCO_DIR="), ("fancy_gym", "TCE_MODELS"), ("metaworld", "TCE_MODELS")])
def test_mujoco_and_models_without_network(tmp_path: Path, name: str, remedy: str) -> None:
    version = next(iter(versions(name)))
    result = run("sh", SETUP / f"{name}.sh", version, tmp_path / "there", sys.executable,
                 env=offline())
    check_said(result, "the wheel ")
    assert f"=={version}: " in result.stderr
    assert remedy in result.stderr and list(tmp_path.iterdir()) == []


def test_packages_without_network(tmp_path: Path) -> None:
    if os.geteuid() != 0 or not shutil.which("apt-get"):
        pytest.skip("needs apt, and root to call it")
    for folder in ("lists/partial", "archives/partial", "etc"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "sources.list").write_text(f"deb [trusted=yes] {CLOSED}/debian stable main\n")
    (tmp_path / "apt.conf").write_text(
        f'Dir::Etc::SourceList "{tmp_path}/sources.list";\n'
        f'Dir::Etc::SourceParts "{tmp_path}/etc";\nDir::Etc::Parts "{tmp_path}/etc";\nDir::State::Lists "{tmp_path}/lists";\n'
        f'Dir::Cache "{tmp_path}";\nAcquire::http::Proxy "DIRECT";\n')
    result = run("make", "-s", "deps-fuzz", "FUZZ_NEEDS=package:libtce-not-there",
                 env=offline(APT_CONFIG=tmp_path / "apt.conf"))
    check_said(result, "the packages libtce-not-there")
    assert "NO_DEPS=1" in result.stderr


# ---- other failures are shown as they are --------------------------------------------------------

FETCH = '. examples/setup/network.sh; fetch thing remedy sh -c "$0"'


@pytest.mark.parametrize("said", [
    "ERROR: THESE PACKAGES DO NOT MATCH THE HASHES FROM THE REQUIREMENTS FILE.",
    "WARNING: Retrying after connection broken by 'X'\nERROR: THESE DO NOT MATCH THE HASHES",
    "ERROR: Could not find a version that satisfies the requirement numpy==9 (from versions: 1, 2)",
    "Could not fetch URL: SSLError: Max retries exceeded\nERROR: No matching distribution found",
    "E: Unable to locate package libtce-not-there"])
def test_another_failure_is_not_called_offline(tmp_path: Path, said: str) -> None:
    (tmp_path / "said").write_text(said + "\n")
    result = run("sh", "-c", FETCH, f"cat {tmp_path}/said >&2; exit 7", env=dict(os.environ))
    assert result.returncode == 7 and result.stderr == said + "\n"


def test_what_succeeds_is_shown(tmp_path: Path) -> None:
    result = run("sh", "-c", FETCH, "echo out; echo warned >&2", env=dict(os.environ))
    assert (result.returncode, result.stdout, result.stderr) == (0, "out\n", "warned\n")


# ---- hashes --------------------------------------------------------------------------------------


def test_every_requirement_is_pinned_and_hashed() -> None:
    files = [path for folder in ("python", "bench", "oracle")
             for path in (ROOT / "tests" / folder).glob("*.txt")]
    assert len(files) >= 7
    for path in files:
        for line in path.read_text(encoding="utf-8").replace("\\\n", " ").splitlines():
            if line and not line.startswith(("#", "-r ")):
                assert "==" in line.split()[0] and "--hash=sha256:" in line, f"{path}: {line}"


def make_wheel(path: Path) -> str:
    """A wheel of a package "thing"; its sha256."""
    files = {"thing.py": "", "thing-1.dist-info/RECORD": "",
             "thing-1.dist-info/METADATA": "Metadata-Version: 2.1\nName: thing\nVersion: 1\n",
             "thing-1.dist-info/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\n"
                                        "Tag: py3-none-any\n"}
    with zipfile.ZipFile(path, "w") as wheel:
        for name, text in files.items():
            wheel.writestr(name, text)
    return hashlib.sha256(path.read_bytes()).hexdigest()


def test_a_wheel_with_another_hash_is_not_installed(tmp_path: Path) -> None:
    venv, stamp, file = tmp_path / "venv", tmp_path / "stamp", tmp_path / "thing.txt"
    digest = make_wheel(tmp_path / "thing-1-py3-none-any.whl")
    env = offline(PIP_FIND_LINKS=tmp_path, PIP_NO_INDEX=1, **empty_venv(venv))
    install = ["sh", "examples/setup/venv.sh", "/bin/false", venv, stamp, file]

    for text, says in (("thing==1\n", "--require-hashes"),
                       (f"thing==1 --hash=sha256:{'0' * 64}\n", "DO NOT MATCH THE HASHES")):
        file.write_text(text)
        result = run(*install, env=env)
        assert result.returncode != 0 and says in result.stderr, result.stderr
        assert not stamp.exists()
    file.write_text(f"thing==1 --hash=sha256:{digest}\n")
    result = run(*install, env=env)
    assert result.returncode == 0 and stamp.exists(), result.stderr
    assert list(venv.glob("lib/*/site-packages/thing.py"))


# wheels of an index, and whether a Python that the requirements are for may choose them
WHEELS = {
    "thing-1-py3-none-any.whl": True,
    "thing-1-py2.py3-none-any.whl": True,
    "thing-1-cp311-cp311-manylinux_2_17_x86_64.manylinux2014_x86_64.whl": True,
    "thing-1-cp313-cp313t-manylinux_2_28_aarch64.whl": True,
    "thing-1-cp37-abi3-manylinux_2_28_x86_64.whl": True,
    "thing-1-py3-none-manylinux_2_27_aarch64.whl": True,
    "thing-1-cp310-cp310-manylinux_2_17_x86_64.whl": False,
    "thing-1-cp311-cp311-musllinux_1_2_x86_64.whl": False,
    "thing-1-cp311-cp311-win_amd64.whl": False,
    "thing-1-cp311-cp311-macosx_11_0_arm64.whl": False,
    "thing-1-cp311-cp311-manylinux_2_17_ppc64le.whl": False,
    "thing-2-py3-none-any.whl": False,
    "thing-1.tar.gz": False,
    "thing-1.win32.exe": False,
}


def test_hashes_are_those_of_the_wheels_that_may_be_chosen(tmp_path: Path) -> None:
    digests = {name: hashlib.sha256(name.encode()).hexdigest() for name in WHEELS}
    (tmp_path / "thing").mkdir()
    links = [f'<a href="../files/{name}#sha256={digest}">{name}</a>\n'
             for name, digest in digests.items()]
    (tmp_path / "thing" / "index.html").write_text("".join(links))
    mine, source = tmp_path / "mine.txt", tmp_path / "source.txt"
    before = "# why\nthing==1 ; python_version < '4' \\\n    --hash=sha256:0\n\n-r other.txt\n"
    mine.write_text(before)
    source.write_text("thing==1\n")
    code = f"import sys; from pathlib import Path\nsys.path.insert(0, 'tests/python'); import hashes\n" \
           f"hashes.FILES = [Path({str(mine)!r}), Path({str(source)!r})]\n" \
           f"hashes.TESTS = Path({str(tmp_path / 'tests')!r})\nhashes.main()"
    env = offline(PIP_INDEX_URL=tmp_path.as_uri())

    assert run(sys.executable, "-c", code, "--check", env=env).returncode == 1
    assert mine.read_text() == before
    result = run(sys.executable, "-c", code, env=env)
    assert result.returncode == 0, result.stderr
    head, *lines = mine.read_text().replace(" \\\n    --hash=sha256:", "\n").splitlines()
    assert (head, lines[0]) == ("# why", "thing==1 ; python_version < '4'")
    assert lines[-2:] == ["", "-r other.txt"]
    assert lines[1:-2] == sorted(digests[name] for name, chosen in WHEELS.items() if chosen)
    assert source.read_text() == f"thing==1 \\\n    --hash=sha256:{digests['thing-1.tar.gz']}\n"
    assert run(sys.executable, "-c", code, "--check", env=env).returncode == 0
