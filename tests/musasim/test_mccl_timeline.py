"""Collectives in a profile: a kernel for each, on a stream of the communicator, named as traces of such devices name them."""

from __future__ import annotations

from typing import Any

import pytest
import torch
import torch.distributed as dist

from support.ranks import Ranks

pytestmark = pytest.mark.once


def kernels(rank: int, size: int) -> list[tuple[str, bool]]:
    """The kernels of collectives, and whether each was on another stream than the program's."""
    from torch.profiler import ProfilerActivity, profile

    x = torch.ones(8, device="musa")
    big = torch.ones(2**16, device="musa", dtype=torch.bfloat16)
    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.PrivateUse1]) as prof:
        dist.all_reduce(x)
        dist.all_reduce(big, op=dist.ReduceOp.AVG)
        dist.all_gather([torch.empty_like(x) for _ in range(size)], x)
        dist.broadcast(x, 0)
        dist.reduce_scatter_tensor(torch.empty(4, device="musa"), x, op=dist.ReduceOp.MAX)
        dist.send(x, 1) if rank == 0 else dist.recv(x, 0)
        torch.musa.synchronize()
    profiler: Any = prof.profiler
    events = [event for event in profiler.kineto_results.events() if event.name().startswith("mcclKernel")]
    own = torch.musa.current_stream().stream_id
    return [(event.name(), event.device_resource_id() != own) for event in sorted(events, key=lambda e: e.start_ns())]


@pytest.mark.full
def test_each_collective_is_a_kernel_on_a_stream_of_the_communicator(two: Ranks) -> None:
    names = [
        "mcclKernel_AllReduce_RING_LL_Sum_float(mcclWorkElem)",
        "mcclKernel_AllReduce_RING_SIMPLE_PreMulSum___mt_bfloat16(mcclWorkElem)",
        "mcclKernel_AllGather_RING_LL_Sum_int8_t(mcclWorkElem)",
        "mcclKernel_Broadcast_RING_LL_Sum_int8_t(mcclWorkElem)",
        "mcclKernel_ReduceScatter_RING_LL_Max_float(mcclWorkElem)",
        "mcclKernel_SendRecv_RING_LL_Sum_int8_t(mcclWorkElem)",
    ]
    assert two.run(kernels) == [[(name, True) for name in names]] * 2
