"""Collectives in a profile of code that sees CUDA: NCCL's kernels, by which tools tell communication from computation."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from support.launch import PROGRAMS, torchrun

# As NCCL 2.22 and newer, which has one kernel for each type, named after the sum and the protocol LL.
ARGUMENTS = "(ncclDevKernelArgsStorage<4096ul>)"
KINDS = ("AllReduce_Sum_f32_RING_LL", "AllGather_RING_LL", "AllReduce_Sum_u32_RING_LL")


@pytest.mark.full
def test_kernels_of_collectives_have_nccls_names(tmp_path: Path) -> None:
    torchrun(PROGRAMS / "profiled.py", tmp_path, folder=tmp_path).must_succeed()
    names = [json.loads((tmp_path / f"{rank}.names").read_text()) for rank in range(2)]
    assert names == [[f"ncclDevKernel_{kind}{ARGUMENTS}" for kind in KINDS]] * 2
