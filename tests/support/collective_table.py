"""Every collective as a function of tensors, to compare two backends: used by test_mccl.py and benchmarks/collectives.py.

Each takes (make, group, async_op), where `make(seed, *shape)` gives a tensor on the backend's device and of the type under test,
and returns the tensors it has filled. The rank determines the values.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch.distributed as dist

Make = Callable[..., torch.Tensor]
Collective = Callable[[Make, Any, bool], list[torch.Tensor]]


def _wait(work: Any) -> None:
    if work is not None:
        work.wait()


def all_reduce(op: Any) -> Collective:
    def run(make: Make, group: Any, async_op: bool) -> list[torch.Tensor]:
        tensor = make(dist.get_rank(), 3, 4)
        _wait(dist.all_reduce(tensor, op=op, group=group, async_op=async_op))
        return [tensor]

    return run


def broadcast(make: Make, group: Any, async_op: bool) -> list[torch.Tensor]:
    tensor = make(dist.get_rank(), 5)
    _wait(dist.broadcast(tensor, src=1, group=group, async_op=async_op))
    return [tensor]


def reduce(make: Make, group: Any, async_op: bool) -> list[torch.Tensor]:
    tensor = make(dist.get_rank(), 2, 3)
    _wait(dist.reduce(tensor, dst=1, group=group, async_op=async_op))
    # The tensors of other ranks are not compared, because gloo computes in them.
    return [tensor] if dist.get_rank() == 1 else []


def all_gather(make: Make, group: Any, async_op: bool) -> list[torch.Tensor]:
    tensors = [make(9, 2, 2) for _ in range(dist.get_world_size())]
    _wait(dist.all_gather(tensors, make(dist.get_rank(), 2, 2), group=group, async_op=async_op))
    return tensors


def all_gather_into_tensor(make: Make, group: Any, async_op: bool) -> list[torch.Tensor]:
    tensor = make(9, 3 * dist.get_world_size(), 2)
    _wait(dist.all_gather_into_tensor(tensor, make(dist.get_rank(), 3, 2), group=group, async_op=async_op))
    return [tensor]


def gather(make: Make, group: Any, async_op: bool) -> list[torch.Tensor]:
    tensors = [make(9, 4) for _ in range(dist.get_world_size())] if dist.get_rank() == 0 else None
    _wait(dist.gather(make(dist.get_rank(), 4), tensors, dst=0, group=group, async_op=async_op))
    return tensors or []


def scatter(make: Make, group: Any, async_op: bool) -> list[torch.Tensor]:
    tensor = make(9, 4)
    tensors = [make(20 + rank, 4) for rank in range(dist.get_world_size())] if dist.get_rank() == 1 else None
    _wait(dist.scatter(tensor, tensors, src=1, group=group, async_op=async_op))
    return [tensor]


def reduce_scatter(make: Make, group: Any, async_op: bool) -> list[torch.Tensor]:
    tensor = make(9, 2, 3)
    parts = [make(10 * dist.get_rank() + part, 2, 3) for part in range(dist.get_world_size())]
    _wait(dist.reduce_scatter(tensor, parts, group=group, async_op=async_op))
    return [tensor]


def reduce_scatter_without_it(make: Make, group: Any, async_op: bool) -> list[torch.Tensor]:
    """The same for gloo of torch 2.7, which has no reduce_scatter."""
    parts = [make(10 * dist.get_rank() + part, 2, 3) for part in range(dist.get_world_size())]
    dist.all_reduce(whole := torch.stack(parts), group=group)
    return [whole[dist.get_rank()]]


def reduce_scatter_tensor(make: Make, group: Any, async_op: bool) -> list[torch.Tensor]:
    tensor = make(9, 2, 3)
    whole = make(dist.get_rank(), 2 * dist.get_world_size(), 3)
    _wait(dist.reduce_scatter_tensor(tensor, whole, group=group, async_op=async_op))
    return [tensor]


def all_to_all_single(make: Make, group: Any, async_op: bool) -> list[torch.Tensor]:
    tensor = make(9, 2 * dist.get_world_size(), 3)
    whole = make(dist.get_rank(), 2 * dist.get_world_size(), 3)
    _wait(dist.all_to_all_single(tensor, whole, group=group, async_op=async_op))
    return [tensor]


def all_to_all_single_uneven(make: Make, group: Any, async_op: bool) -> list[torch.Tensor]:
    rank, size = dist.get_rank(), dist.get_world_size()
    sends, receives = [rank + to for to in range(size)], [rank + source for source in range(size)]
    tensor = make(9, sum(receives), 3)
    whole = make(rank, sum(sends), 3)
    _wait(dist.all_to_all_single(tensor, whole, receives, sends, group=group, async_op=async_op))
    return [tensor]


def send_and_receive(make: Make, group: Any, async_op: bool) -> list[torch.Tensor]:
    rank, size = dist.get_rank(), dist.get_world_size()
    received = make(9, 3, 2)
    sending = dist.isend(make(rank, 3, 2), (rank + 1) % size, group=group)
    if async_op:
        dist.irecv(received, (rank - 1) % size, group=group).wait()
    else:
        dist.recv(received, (rank - 1) % size, group=group)
    sending.wait()
    return [received]


#: Collectives that move tensors, and those that compute with them.
MOVES: dict[str, Collective] = {
    "broadcast": broadcast,
    "all_gather": all_gather,
    "all_gather_into_tensor": all_gather_into_tensor,
    "gather": gather,
    "scatter": scatter,
    "all_to_all_single": all_to_all_single,
    "all_to_all_single, uneven": all_to_all_single_uneven,
    "send, recv": send_and_receive,
}
COMPUTES: dict[str, Collective] = {
    **{f"all_reduce {name}": all_reduce(getattr(dist.ReduceOp, name)) for name in ("SUM", "PRODUCT", "MIN", "MAX")},
    "reduce": reduce,
    "reduce_scatter": reduce_scatter,
    "reduce_scatter_tensor": reduce_scatter_tensor,
}
DTYPES = (
    torch.float16,
    torch.bfloat16,
    torch.float32,
    torch.float64,
    torch.int8,
    torch.uint8,
    torch.int32,
    torch.int64,
    torch.bool,
    torch.complex64,
)


def maker(device: str, dtype: torch.dtype) -> Make:
    """Tensors whose values depend on a seed alone: small whole numbers, exact in every type."""

    def make(seed: int, *shape: int) -> torch.Tensor:
        generator = torch.Generator().manual_seed(seed)
        values = torch.randint(0, 2 if dtype is torch.bool else 4, shape, generator=generator)
        return values.to(dtype).to(device)

    return make
