"""The trainer's library for other processes: what it may not do is not even linked to it."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from running import PROGRAM

LIBRARY = Path(os.environ.get("TCE_TRAIN", PROGRAM.parent / "libtce_train.so"))


def symbols(*options: str) -> "dict[str, str]":
    said = subprocess.run(["nm", *options, str(LIBRARY)], check=True, capture_output=True, text=True).stdout
    return {fields[-1].partition("@")[0]: fields[-2] for fields in (line.split() for line in said.splitlines())}


@pytest.mark.parametrize("forbidden", [
    {"stdout", "stderr", "printf", "vprintf", "puts", "putchar"},  # prints
    {"signal", "sigaction", "bsd_signal", "sigprocmask", "pthread_sigmask"},  # takes signals
    {"exit", "_exit", "abort", "longjmp"}])  # ends the process
def test_nothing_is_printed_and_no_signal_is_taken(forbidden: "set[str]") -> None:
    needed = symbols("-D", "-u")
    assert "snprintf" in needed  # nm is understood
    if any(name.startswith("__gcov") for name in symbols()):
        pytest.skip("a build that counts its lines has gcc's own reporting linked to it")
    assert not forbidden & set(needed)


def test_nothing_is_kept_between_runs() -> None:
    written = {name for name, kind in symbols().items() if kind in "bB" and not name.startswith(("completed", "__"))}
    assert written == set()


def test_only_its_own_functions_can_be_seen() -> None:
    seen = {name for name, kind in symbols("-D", "--defined-only").items() if kind == "T"}
    assert seen and all(name.startswith("tce_train_") for name in seen)
