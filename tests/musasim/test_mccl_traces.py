"""The names of the flight recorder and of symmetric memory by release: none in 2.7.1, and no other than the release has."""

from __future__ import annotations

import pytest

from support.fresh_process import run
from support.interpreter import TORCH

pytestmark = pytest.mark.once

CODE = """
import torch, torch_musa
from torch._C import _distributed_c10d as native
print(sorted(name for name in dir(native) if "mccl" in name))
kernels = ("one_shot_all_reduce", "low_contention_all_gather", "multimem_all_reduce_")
has = torch._C._dispatch_has_kernel_for_dispatch_key
print([name for name in kernels if hasattr(torch.ops.symm_mem, name) and has(f"symm_mem::{name}", "PrivateUse1")])
"""
TRACES = "['_dump_mccl_trace', '_dump_mccl_trace_json'"


@pytest.mark.parametrize(
    ("release", "traces", "kernels"),
    [
        ("2.7.1", "[]", "[]"),
        ("2.9.1", f"{TRACES}]", "['low_contention_all_gather']"),
        ("2.11.0", f"{TRACES}, '_reset_fr_recording_mccl']", "['one_shot_all_reduce', 'low_contention_all_gather']"),
    ],
)
@pytest.mark.skipif(TORCH < (2, 11), reason="newer releases need their own torch")
def test_a_release_has_its_own_names(release: str, traces: str, kernels: str) -> None:
    assert run(CODE, forked=True, MUSASIM_RELEASE=release).splitlines() == [traces, kernels]
