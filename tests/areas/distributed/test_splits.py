"""Groups that are split into parts: torch_musa's library cannot, and CUDA code does, through DeviceMesh if not by itself."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.launch import PROGRAMS, torchrun


@pytest.mark.full
@pytest.mark.parametrize("release", ["2.7.1", "2.9.1"])
def test_parts_are_made_on_all_ranks(tmp_path: Path, release: str) -> None:
    env = {"MUSASIM_RELEASE": release}
    done = torchrun(PROGRAMS / "splits.py", folder=tmp_path, ranks=4, env=env, patience=120).must_succeed()
    assert all(f"rank {rank} is done" in done.output for rank in range(4))
