"""What the tests of the program `tce` share: starting the program, reading what a run has left, and a library of small tasks."""

from __future__ import annotations

import csv
import json
import os
import shutil
import signal
import struct
import subprocess
import time
from pathlib import Path
from typing import Any, Callable, Dict, List, Optional

import pytest

ROOT = Path(__file__).resolve().parents[2]
SETUP = ROOT / "examples" / "setup"
PROGRAM = Path(os.environ.get("TCE_PROGRAM", ROOT / "build" / "bin" / "tce"))
# loops as long as `make test-long` wants them
LONG = os.environ.get("TCE_TEST_LONG", "") == "1"
# as Check's suites: programs that count what they run take longer
PATIENCE = int(os.environ.get("CK_TIMEOUT_MULTIPLIER", "1"))


def versions(name: str) -> Dict[str, List[str]]:
    """The versions of a package that examples/setup/versions lists, the usual one first, with the tags of their wheels."""
    found: Dict[str, List[str]] = {}
    tags: List[str] = []
    for line in (SETUP / "versions").read_text(encoding="utf-8").splitlines():
        words = line.split()
        if line.startswith(" "):
            tags.append(words[1])
        elif not line.startswith("#"):
            tags = []
            if words[0] == name:
                found[words[1]] = tags
    return found


def environment() -> Dict[str, str]:
    # no pictures here: drawing has its own tests, and takes longer than these runs
    return {**os.environ, "OPENBLAS_NUM_THREADS": "1", "TCE_PYTHON": "/bin/false"}


def tce(*arguments: Any, env: Optional[Dict[str, str]] = None, **options: Any) -> "subprocess.CompletedProcess[str]":
    """`env` goes over the environment of the tests."""
    return subprocess.run([str(PROGRAM), *map(str, arguments)], capture_output=True, text=True, env={**environment(), **(env or {})},
                          timeout=120 * PATIENCE, **options)


def listen() -> None:
    """A shell's background job ignores Ctrl-C, and so does what it starts; the tests send it all the same."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def ignore() -> None:
    """As a shell's background job."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def begin(*arguments: Any, before: Callable[[], None] = listen, **more: str) -> "subprocess.Popen[str]":
    """`more` goes into the environment."""
    return subprocess.Popen([str(PROGRAM), *map(str, arguments)], preexec_fn=before, stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, text=True, env={**environment(), **more})


def on_a_terminal(*arguments: Any, errors: bool = False, **more: str) -> str:
    """What the program shows there, with `errors` what it says on stderr instead; `more` goes into its environment."""
    import pty
    try:
        master, slave = pty.openpty()
    except OSError as error:
        pytest.skip(f"no terminal to be had here: {error}")
    process = subprocess.Popen([str(PROGRAM), *map(str, arguments)], stdout=subprocess.DEVNULL if errors else slave,
                               stderr=slave if errors else subprocess.DEVNULL,
                               env={**environment(), "TERM": "xterm", **more})
    os.close(slave)
    shown = b""
    while True:
        try:
            piece = os.read(master, 65536)
        except OSError:
            break
        if not piece:
            break
        shown += piece
    os.close(master)
    assert process.wait(timeout=60) == 0
    return shown.decode()


def folder_of_libtce() -> Path:
    """Where a copy of the program elsewhere finds its library."""
    said = subprocess.run(["ldd", str(PROGRAM)], capture_output=True, text=True).stdout
    return Path(next(line.split("=>")[1].split()[0] for line in said.splitlines() if "libtce.so" in line)).parent


def rows(folder: Path) -> List[Dict[str, str]]:
    with open(folder / "progress.csv", newline="", encoding="utf-8") as stream:
        return list(csv.DictReader(stream))


def checkpoints(folder: Path) -> List[Path]:
    return sorted((folder / "checkpoints").glob("ckpt-*.safetensors"))


def content(folder: Path) -> Dict[str, bytes]:
    """What must be the same bytes for a run however it was stopped, and on any number of threads."""
    last = checkpoints(folder)[-1]
    files = [folder / "progress.csv", folder / "policy.safetensors", folder / "policy-best.safetensors", last]
    return {str(file.relative_to(folder)): file.read_bytes() for file in files}


def edit_checkpoint(path: Path, without: Optional[str] = None, texts: Optional[Dict[str, str]] = None,
                    arrays: Optional[Dict[str, Callable[[Any], Any]]] = None, **numbers: float) -> None:
    """As another writer would leave it, with the right checksum: without an array, with other texts, with arrays that a
    function has changed, or with other values of scalars run_<name>."""
    import numpy

    import tce as library
    data = path.read_bytes()
    size, = struct.unpack("<Q", data[:8])
    metadata = json.loads(data[8:8 + size])["__metadata__"]
    old, new = library.Store.load(path), library.Store()
    changes = {**(arrays or {}), **{name.replace("_", ".", 1): lambda was, value=value: numpy.array(value, was.dtype)
                                   for name, value in numbers.items()}}
    wanted = {name: text for name, text in metadata.items() if not name.startswith("tce.")}
    assert set(changes) <= set(old) and (without is None or without in old) and set(texts or {}) <= set(wanted)
    for name in old:
        if name != without:
            new[name] = changes[name](old[name]) if name in changes else old[name]
    for name, text in {**wanted, **(texts or {})}.items():
        new[name] = text
    new.save(path)


def remove_checksum(path: Path) -> None:
    """As a program that knows safetensors only would leave the file."""
    data = path.read_bytes()
    size, = struct.unpack("<Q", data[:8])
    header = json.loads(data[8:8 + size])
    del header["__metadata__"]["tce.checksum"], header["__metadata__"]["tce.format"]
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + data[8 + size:])


def wait_until(condition: Any, seconds: float = 60.0) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.005)


def compile_tasks(library: Path, *more: Path, first: Path = ROOT / "tests" / "toys" / "targets.c") -> None:
    """toys/targets.c, or what is first instead, and more files, as a task library."""
    cc = next((c for c in (os.environ.get("CC", ""), "cc", "gcc", "clang") if c and shutil.which(c.split()[0])), None)
    assert cc, "no compiler"
    subprocess.run([*cc.split(), "-std=c99", "-O1", "-shared", "-fPIC", f"-I{ROOT / 'include'}", f"-I{ROOT / 'tests'}", "-o", str(library), str(first),
                    *map(str, more)], check=True)
