"""Triton on the simulated device. Everything here needs the package triton, as PyPI has it."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import pytest


@pytest.fixture(autouse=True, scope="session")
def _cache(tmp_path_factory: pytest.TempPathFactory) -> object:
    """Triton's cache on disk is the user's, and what it contains would hide what a test compiles."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TRITON_CACHE_DIR", str(tmp_path_factory.mktemp("triton")))
        yield


collect_ignore_glob = [] if find_spec("triton") else ["test_*.py"]


def pytest_report_header(start_path: Path) -> str:
    return "" if find_spec("triton") else "tests/musasim/triton is left out: triton is not installed"
