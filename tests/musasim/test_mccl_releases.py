"""What the process group `mccl` has from torch_musa 2.9.1 on, and has not before."""

from __future__ import annotations

import pytest

from support.fresh_process import run

pytestmark = pytest.mark.once

GROUP = """
import torch, torch_musa
import torch.distributed as dist
dist.init_process_group("mccl", store=dist.HashStore(), rank=0, world_size=1)
group = dist.group.WORLD._get_backend(torch.device("musa"))
dist.all_reduce(torch.ones(2, device="musa"))
bad = torch.tensor([1.0, float("nan")], device="musa")
"""
NAMES = {"_comm_ptr", "_set_enable_nan_check", "deregister_mem_pool", "register_mem_pool"}


def test_2_7_1_has_no_such_names_and_finds_no_nan() -> None:
    out = run(
        f"{GROUP}print(sorted({NAMES} & set(dir(group))))\ndist.all_reduce(bad)\nprint(bad.isnan().tolist())",
        TORCH_MCCL_NAN_CHECK="1",
        MUSASIM_RELEASE="2.7.1",
    )
    assert out.splitlines() == ["[]", "[False, True]"]


BLOCKING = """
if hasattr(dist.Work, "block_current_stream"):
    work = dist.all_reduce(torch.ones(2, device="musa"), async_op=True)
    work.block_current_stream()
    assert work.is_completed()
"""


def test_2_9_1_registers_memory_and_tells_its_communicator() -> None:
    out = run(
        GROUP
        + BLOCKING
        + """
assert group._comm_ptr() == group._comm_ptr() != 0
pool = torch.musa.MemPool()
group.register_mem_pool(pool)
group.deregister_mem_pool(pool)
try:
    group.deregister_mem_pool(pool)
except RuntimeError as error:
    print(error)
""",
        MUSASIM_RELEASE="2.9.1",
    )
    assert "this memory pool is not registered" in out


@pytest.mark.parametrize("switch", ["TORCH_MCCL_NAN_CHECK=1", "group._set_enable_nan_check(True)"])
def test_2_9_1_finds_nan(switch: str) -> None:
    by_variable = switch.startswith("TORCH")
    out = run(
        f"""{GROUP}
{"" if by_variable else switch}
dist.all_reduce(torch.tensor([1], device="musa"))
try:
    dist.all_reduce(bad)
except RuntimeError as error:
    print(error)
""",
        MUSASIM_RELEASE="2.9.1",
        **({"TORCH_MCCL_NAN_CHECK": "1"} if by_variable else {}),
    )
    assert out.startswith("MCCL NaN check failed")


def test_a_work_of_2_7_1_does_not_block_a_stream() -> None:
    run(
        GROUP
        + """
if hasattr(dist.Work, "block_current_stream"):
    try:
        dist.all_reduce(bad, async_op=True).block_current_stream()
    except RuntimeError as error:
        assert "StreamBlock" in str(error)
    else:
        raise SystemExit("a work of 2.7.1 has blocked a stream")
""",
        MUSASIM_RELEASE="2.7.1",
    )
