"""A fresh interpreter in which "cuda" is a name for the CPU."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.interpreter import Interpreter


@pytest.fixture
def host(tmp_path: Path) -> Interpreter:
    """As `torchada run --on cpu`, in strict mode and in an empty folder."""
    return Interpreter(env={"TORCHADA_PLATFORM": "host", "TORCHADA_STRICT": "1"}, cwd=tmp_path)
