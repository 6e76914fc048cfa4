"""Ranks: one run as several processes over MPI has the bytes of one process, however its processes end."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any, Dict, List

import pytest
from running import PATIENCE, PROGRAM, environment

MPI = Path(os.environ.get("TCE_MPI", PROGRAM.with_name("tce-mpi")))
MPIRUN = os.environ.get("TCE_MPIRUN", "mpirun")

# a fault must not hold the tests up
LIMIT = 60 * PATIENCE


def open_mpi() -> bool:
    return "Open MPI" in subprocess.run([MPIRUN, "--version"], capture_output=True, text=True).stdout


def launcher(n: int) -> List[str]:
    """mpirun with n ranks, of which there may be more than cores."""
    return [MPIRUN, *(["--oversubscribe", "--bind-to", "none"] if open_mpi() else []), "-n", str(n)]


def surroundings() -> Dict[str, str]:
    return {**environment(), "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_mpi_yield_when_idle": "1",
            "OMPI_MCA_rmaps_base_oversubscribe": "1"}


def run(n: int, *words: Any, program: Path = MPI) -> "subprocess.CompletedProcess[str]":
    return subprocess.run([*launcher(n), str(program), *map(str, words)], capture_output=True, text=True, env=surroundings(), timeout=LIMIT)


@pytest.mark.parametrize("n", [1, 2, 3, 5])
def test_ranks_gather_agree_broadcast_and_talk(n: int) -> None:
    done = run(n, n, program=MPI.with_name(MPI.name + "-test"))
    assert done.returncode == 0 and done.stdout == "fine\n", done.stderr
