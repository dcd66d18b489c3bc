"""What others could do to a cache."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from _torchada_cache.cache import Cache

ANOTHER = 54321


@pytest.fixture
def give_away(monkeypatch: pytest.MonkeyPatch) -> Callable[[Path], None]:
    """Makes a path another user's. Root can do so; for others, all that is theirs becomes another's."""

    def give(path: Path) -> None:
        if os.geteuid() == 0:
            os.lchown(path, ANOTHER, ANOTHER)
        else:
            monkeypatch.setattr(os, "geteuid", lambda: ANOTHER)

    return give


@pytest.fixture
def cache(tmp_path: Path) -> Cache:
    return Cache("program", "PROGRAM_CACHE_DIR", tmp_path / "caches" / "program")
