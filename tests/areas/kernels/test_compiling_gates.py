"""What is kept of compiling the gates: the library, or the messages where the source does not compile; nothing of a full disk."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from _torchada_cache.cache import Cache
from torchada.areas.kernels._gates import worker

pytestmark = pytest.mark.once


def job(tmp_path: Path, message: str) -> worker.Job:
    """One whose compiler writes half a library and fails with a message."""
    compiler = tmp_path / "c++"
    compiler.write_text(
        f'#!/bin/sh\nfor word; do case $before in -o) echo half > "$word";; esac; before=$word; done\n'
        f"echo {shlex.quote(message)} >&2\nexit 1\n"
    )
    compiler.chmod(0o755)
    return worker.Job("entry", "", [str(compiler)], [])


@pytest.fixture
def kept(tmp_path: Path) -> Cache:
    return Cache("torchada", "TORCHADA_CACHE_DIR", tmp_path / "cache")


def test_a_source_that_does_not_compile_is_not_tried_again(kept: Cache, tmp_path: Path) -> None:
    entry = worker.build(kept, job(tmp_path, "gates.cpp:1: error: no"))
    assert (entry / worker.ERRORS).read_text() == "gates.cpp:1: error: no\n" and not (entry / worker.LIBRARY).exists()


@pytest.mark.parametrize(
    "message", ["gates.s: No space left on device", "gates.s: Disk quota exceeded", "Killed signal terminated cc1plus"]
)
def test_a_fault_of_the_machine_is_not_kept(kept: Cache, tmp_path: Path, message: str) -> None:
    with pytest.raises(OSError, match=message):
        worker.build(kept, job(tmp_path, message))
    assert kept.find("entry") is None
