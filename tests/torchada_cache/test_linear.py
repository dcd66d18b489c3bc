"""The manifest of a cache's entry is read in time in proportion to its size, whatever it holds (support/growth.py)."""

from __future__ import annotations

from pathlib import Path

import pytest

from _torchada_cache import manifest
from support.growth import LIMIT, enough, growth
from support.hostile_json import in_files
from support.steps import grow

pytestmark = [pytest.mark.once, pytest.mark.full]

MOST = 512 * 1024
TEXTS = in_files(b'{"version":1,', [1, "0" * 64, False])
EACH = pytest.mark.parametrize("name", TEXTS)


def compare(folder: Path, data: bytes) -> str | None:
    """What is wrong with a folder whose manifest is `data`."""
    (folder / manifest.NAME).write_bytes(data)
    return manifest.damage(folder)


@EACH
def test_eight_times_a_manifest_takes_about_eight_times_as_long(tmp_path: Path, name: str) -> None:
    def act(data: bytes) -> None:
        assert compare(tmp_path, data) is not None

    assert growth(act, TEXTS[name], enough(act, TEXTS[name], MOST)) < LIMIT


@EACH
def test_each_byte_of_a_larger_manifest_takes_as_many_steps(tmp_path: Path, name: str) -> None:
    assert not grow(lambda data: compare(tmp_path, data), TEXTS[name], 2000)
