"""Which cases of a parametrized test are left to the slow tail, and which of very many are a revision's own."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest


def rarely(cases: Iterable[Any], *chosen: object) -> list[Any]:
    """`cases`, with `chosen` among the slow tests; each of those has to be a case."""
    listed = list(cases)
    assert set(chosen) <= set(listed), chosen
    return [pytest.param(case, marks=pytest.mark.slow) if case in chosen else case for case in listed]


def revision() -> str:
    """The commit under test, as a seed for a sample that is another one for each; SAMPLE_OF asks for that of another commit."""
    command = ["git", "rev-parse", "HEAD"]
    done = subprocess.run(command, cwd=Path(__file__).parent, capture_output=True, text=True, check=False)
    return os.environ.get("SAMPLE_OF") or done.stdout.strip()  # an unpacked archive has no commit
