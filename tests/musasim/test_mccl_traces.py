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


@pytest.mark.parametrize(("release", "there"), [("2.7.1", False), ("2.9.1", True)])
@pytest.mark.skipif(TORCH < (2, 9), reason="newer releases need their own torch")
def test_symmetric_memory_is_found_without_an_import(release: str, there: bool) -> None:
    """The real package has imported it, and the simulator does so when somebody asks for it."""
    code = """
import sys, torch, torch_musa
print("torch.distributed._symmetric_memory" in sys.modules, hasattr(torch.distributed, "_symmetric_memory"))
print(hasattr(torch.distributed, "_symmetric_memories"))
"""
    assert run(code, MUSASIM_RELEASE=release).splitlines() == [f"False {there}", "False"]


@pytest.mark.parametrize(("release", "there"), [("2.9.1", False), ("2.11.0", True)])
@pytest.mark.skipif(TORCH < (2, 11), reason="newer releases need their own torch")
def test_products_that_travel_have_operators_of_the_device(release: str, there: bool) -> None:
    code = """
import torch, torch_musa
torch.distributed._symmetric_memory
has = torch._C._dispatch_has_kernel_for_dispatch_key
print([has(f"symm_mem::{name}", "PrivateUse1") for name in ("fused_all_gather_matmul", "fused_matmul_reduce_scatter")])
"""
    assert run(code, MUSASIM_RELEASE=release) == f"{[there, there]}\n"


@pytest.mark.skipif(TORCH < (2, 9), reason="torch has it with 2.9 and newer")
def test_a_pool_of_symmetric_memory_gives_parts_of_one_allocation() -> None:
    code = """
import torch, torch_musa, torch.distributed as dist
import torch.distributed._symmetric_memory as symmetric
dist.init_process_group("mccl", store=dist.HashStore(), rank=0, world_size=1)
pool = torch.musa.MemPool(symmetric.get_mempool_allocator(torch.device("musa")))
with torch.musa.use_mem_pool(pool):
    first = torch.ones(1024, device="musa")
    second = torch.ones_like(first)
print([symmetric.rendezvous(tensor, group=dist.group.WORLD.group_name).offset for tensor in (first, second)])
"""
    assert run(code, MUSASIM_RELEASE="2.9.1").splitlines()[0] == "[0, 4096]"
