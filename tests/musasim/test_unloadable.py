"""What is said where the compiled simulator is there and cannot be loaded."""

from __future__ import annotations

import os
from pathlib import Path
from types import SimpleNamespace

import pytest

from musasim import build

pytestmark = pytest.mark.once
NOT_MAPPED = "_MUSAC.so: failed to map segment from shared object"


@pytest.mark.parametrize(("flags", "says"), [(os.ST_NOEXEC, "MUSASIM_CACHE_DIR"), (0, "python -m musasim clean")])
def test_a_file_system_without_execution_is_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, flags: int, says: str
) -> None:
    monkeypatch.setattr(os, "statvfs", lambda path: SimpleNamespace(f_flag=flags))
    assert says in build._way_out(tmp_path, NOT_MAPPED)


def test_another_error_is_taken_for_another_build(tmp_path: Path) -> None:
    assert "another build of this torch" in build._way_out(tmp_path, "undefined symbol: _ZN3c10")
