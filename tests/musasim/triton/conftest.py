"""Triton on the simulated device. Everything here needs the package triton, as PyPI has it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True, scope="session")
def _cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Triton's cache on disk is the user's, and what it contains would hide what a test compiles."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TRITON_CACHE_DIR", str(tmp_path_factory.mktemp("triton")))
        yield
