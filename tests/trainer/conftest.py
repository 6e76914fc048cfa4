"""What holds for every test of the program."""

from __future__ import annotations

import pytest
from running import PROGRAM


@pytest.fixture(scope="session", autouse=True)
def program() -> None:
    if not PROGRAM.exists():
        pytest.fail(f"no program {PROGRAM}: build it, or name it in TCE_PROGRAM")
