"""torch.distributed._symmetric_memory between two processes, on the releases of torch_musa that have such memory."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from support.interpreter import TORCH
from support.launch import PROGRAMS
from support.releases import skip_on_older_torch

pytestmark = [
    pytest.mark.full,
    pytest.mark.once,
    pytest.mark.skipif(TORCH < (2, 9), reason="torch_musa has it with torch 2.9 and newer"),
]


def ranks(folder: Path, release: str, *arguments: str) -> list[dict[str, Any]]:
    env = {**os.environ, "MUSASIM_RELEASE": release, "OMP_NUM_THREADS": "1"}
    skip_on_older_torch(env)
    call = [sys.executable, "-W", "ignore", str(PROGRAMS / "symmetric_memory.py"), str(folder), *arguments]
    done = subprocess.run(call, env=env, capture_output=True, text=True)
    lines = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    assert done.returncode == 0 and len(lines) == 2, done.stdout + done.stderr
    return sorted(lines, key=lambda line: line["rank"])


def check_memory(said: list[dict[str, Any]]) -> None:
    for rank, mine in enumerate(said):
        assert (mine["read"], mine["written"]) == (2 - rank, 10 * (2 - rank)), "of the other rank"
        assert mine["signalled"] == (20, 42)[rank]
        assert mine["ranks"] == [rank, 2, 32] and mine["device"] == f"cuda:{rank}"
        assert mine["multicast"] is False, "torch_musa's devices have none"
        assert mine["gathered"] == [1, 1, 2, 2] and mine["product"] == [4, 4, 8, 8]
        assert mine["part"] == [[12.0] * 3], "the sum of 4 ones and of 4 twos"
        assert "all ranks must allocate the same size" in mine["sizes"]


def test_ranks_write_into_each_others_memory(tmp_path: Path) -> None:
    check_memory(ranks(tmp_path, "2.9.1"))


@pytest.mark.parametrize("release", ["2.9.1", "2.11.0"])
def test_sums_of_shared_memory(tmp_path: Path, release: str) -> None:
    """torch_musa 2.9.1 has the memory alone, and 2.11.0 the sums."""
    said = ranks(tmp_path, release, "all_reduce")
    check_memory(said)
    wanted = [2.0 * place + 100 for place in range(8)]
    for rank, mine in enumerate(said):
        assert mine["one_shot"] == mine["two_shot"] == mine["whole"] == wanted
        assert mine["half"] == wanted[4:] and mine["copied"] == [3.0] * 8
        assert mine["scattered"] == wanted[4 * rank : 4 * rank + 4]
        assert "only sum is supported" in mine["sum_of_maxima"]
        assert all("output has to be" in words for words in mine["wrong_outputs"])
        assert mine["of_nothing"] == []
        assert mine["multimem"].startswith(
            "UnsupportedError: torch.ops.symm_mem.multimem_all_reduce_ has no counterpart"
        )
        assert "use one_shot_all_reduce" in mine["multimem"]
