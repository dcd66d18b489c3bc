"""The manifest of an output folder is read in time in proportion to its size, whatever it holds (support/growth.py)."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.growth import LIMIT, enough, growth
from support.hostile_json import in_files
from support.steps import grow
from torchada.porting import manifest
from torchada.porting.scan import MANIFEST

pytestmark = [pytest.mark.once, pytest.mark.full]

MOST = 512 * 1024
RECORD = {
    "target": "a.mu",
    "stamp": [1, 2, 3],
    "mode": 420,
    "digest": "0" * 64,
    "output": [1, 2],
    "replacements": 1,
    "findings": [["check", "cudaX", "why", 1, 1, "cudaX();"]],
}
TEXTS = in_files(b'{"format":1,"key":"k","when":1,', RECORD)
EACH = pytest.mark.parametrize("name", TEXTS)


def read(folder: Path, data: bytes) -> manifest.Manifest | None:
    """What a folder with such a manifest is taken for."""
    (folder / MANIFEST).write_bytes(data)
    return manifest.read(folder)


@pytest.mark.parametrize("name", ["files", "long names"])
def test_these_manifests_are_read_as_ours(tmp_path: Path, name: str) -> None:
    assert read(tmp_path, TEXTS[name](4000)) is not None


@EACH
def test_eight_times_a_manifest_takes_about_eight_times_as_long(tmp_path: Path, name: str) -> None:
    def act(data: bytes) -> None:
        read(tmp_path, data)

    assert growth(act, TEXTS[name], enough(act, TEXTS[name], MOST)) < LIMIT


@EACH
def test_each_byte_of_a_larger_manifest_takes_as_many_steps(tmp_path: Path, name: str) -> None:
    assert not grow(lambda data: read(tmp_path, data), TEXTS[name], 2000)
