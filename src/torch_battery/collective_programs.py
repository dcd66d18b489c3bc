"""What each rank does in the checks of collectives. Process group and device are set; `rank` and `world` tell who asks.

Rank r has numbers of its own, `of(r)`, so that each rank knows what all of them have to get.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
import torch.distributed as dist

from torch_battery.check import expect
from torch_battery.compare import same
from torch_battery.inputs import Inputs

_SIZE = 1000


def of(rank: int, dtype: torch.dtype = torch.float32, count: int = _SIZE) -> torch.Tensor:
    """The numbers of a rank, on its device."""
    return Inputs(dtype, f"rank {rank}")(count).cuda()


def _equal(actual: torch.Tensor, expected: torch.Tensor, what: str) -> None:
    same(actual, expected, None, what)


def _sum(world: int, dtype: torch.dtype) -> torch.Tensor:
    return torch.stack([of(rank, dtype).double() for rank in range(world)]).sum(0)


def _all_reduce(dtype: torch.dtype, rank: int, world: int) -> None:
    x = of(rank, dtype)
    dist.all_reduce(x)
    _equal(x, _sum(world, dtype).cpu(), "the sum of all_reduce")


def _all_reduce_other(rank: int, world: int) -> None:
    every = torch.stack([of(member) for member in range(world)])
    wanted = {
        dist.ReduceOp.MAX: every.amax(0),
        dist.ReduceOp.MIN: every.amin(0),
        dist.ReduceOp.AVG: every.mean(0),
        dist.ReduceOp.PRODUCT: every.prod(0),
    }
    for op, expected in wanted.items():
        x = of(rank)
        dist.all_reduce(x, op=op)
        _equal(x, expected, f"all_reduce with {op}")


def _broadcast(rank: int, world: int) -> None:
    for source in range(world):
        x = of(rank)
        dist.broadcast(x, source)
        _equal(x, of(source), f"broadcast from {source}")


def _all_gather(rank: int, world: int) -> None:
    parts = [torch.empty(_SIZE, device="cuda") for _ in range(world)]
    dist.all_gather(parts, of(rank))
    for member in range(world):
        _equal(parts[member], of(member), f"all_gather's part of rank {member}")
    whole = torch.empty(world * _SIZE, device="cuda")
    dist.all_gather_into_tensor(whole, of(rank))
    _equal(whole, torch.cat(parts), "all_gather_into_tensor")


def _reduce_scatter(rank: int, world: int) -> None:
    given = of(rank, count=world * 50)
    expected = torch.stack([of(member, count=world * 50) for member in range(world)]).sum(0)[
        rank * 50 : (rank + 1) * 50
    ]
    part = torch.empty(50, device="cuda")
    dist.reduce_scatter_tensor(part, given)
    _equal(part, expected, "reduce_scatter_tensor")
    dist.reduce_scatter(part.zero_(), list(given.chunk(world)))
    _equal(part, expected, "reduce_scatter")


def _all_to_all(rank: int, world: int) -> None:
    received = torch.empty(world * 50, device="cuda")
    dist.all_to_all_single(received, of(rank, count=world * 50))
    expected = torch.cat([of(member, count=world * 50)[rank * 50 : (rank + 1) * 50] for member in range(world)])
    _equal(received, expected, "all_to_all_single")


def _reduce(rank: int, world: int) -> None:
    x = of(rank)
    dist.reduce(x, 0)
    if rank == 0:
        _equal(x, _sum(world, torch.float32).cpu(), "reduce")


def _gather(rank: int, world: int) -> None:
    parts = [torch.empty(_SIZE, device="cuda") for _ in range(world)] if rank == 0 else None
    dist.gather(of(rank), parts, dst=0)
    for member, part in enumerate(parts or ()):
        _equal(part, of(member), f"gather's part of rank {member}")
    received = torch.empty(_SIZE, device="cuda")
    dist.scatter(received, [of(member) for member in range(world)] if rank == 0 else None, src=0)
    _equal(received, of(rank), "scatter")


def _send(rank: int, world: int) -> None:
    """Each rank sends to the next one, and receives from the one before."""
    if world == 1:
        return
    x, received = of(rank), torch.empty(_SIZE, device="cuda")
    after, before = (rank + 1) % world, (rank - 1) % world
    transfers = [dist.P2POp(dist.isend, x, after), dist.P2POp(dist.irecv, received, before)]
    for work in dist.batch_isend_irecv(transfers):
        work.wait()
    _equal(received, of(before), "what was received")


def _asynchronous(rank: int, world: int) -> None:
    x = of(rank)
    work = dist.all_reduce(x, async_op=True)
    expect(work is not None, "all_reduce(async_op=True) gives no handle")
    work.wait()
    _equal(x * 2, _sum(world, torch.float32).cpu() * 2, "the sum of an asynchronous all_reduce")


def _sub_group(rank: int, world: int) -> None:
    group = dist.new_group([0])
    if rank == 0:
        x = of(0)
        dist.all_reduce(x, group=group)
        _equal(x, of(0), "all_reduce in a group of one")
    dist.barrier()


def _objects(rank: int, world: int) -> None:
    gathered: list[Any] = [None] * world
    dist.all_gather_object(gathered, {"rank": rank})
    expect(gathered == [{"rank": member} for member in range(world)], f"all_gather_object gives {gathered}")


def _data_parallel(rank: int, world: int) -> None:
    """The gradients are the mean over all ranks."""
    torch.manual_seed(1)
    model = torch.nn.Linear(6, 3).cuda()
    alone = torch.nn.Linear(6, 3).cuda()
    alone.load_state_dict(model.state_dict())
    wrapped = torch.nn.parallel.DistributedDataParallel(model, device_ids=[torch.cuda.current_device()])
    wrapped(of(rank, count=24).reshape(4, 6)).pow(2).mean().backward()
    batch = torch.cat([of(member, count=24).reshape(4, 6) for member in range(world)])
    alone(batch).pow(2).mean().backward()
    for weight, expected in zip(model.parameters(), alone.parameters()):
        close = torch.allclose(weight.grad, expected.grad, rtol=1e-4, atol=1e-5)  # type: ignore[arg-type]
        expect(close, "a gradient of DistributedDataParallel is not the mean of all ranks'")


PROGRAMS: dict[str, Callable[[int, int], None]] = {
    "all_reduce": partial(_all_reduce, torch.float32),
    "all_reduce_float16": partial(_all_reduce, torch.float16),
    "all_reduce_bfloat16": partial(_all_reduce, torch.bfloat16),
    "all_reduce_int64": partial(_all_reduce, torch.int64),
    "all_reduce_operations": _all_reduce_other,
    "broadcast": _broadcast,
    "all_gather": _all_gather,
    "reduce_scatter": _reduce_scatter,
    "all_to_all": _all_to_all,
    "reduce": _reduce,
    "gather_and_scatter": _gather,
    "send_and_receive": _send,
    "asynchronous": _asynchronous,
    "sub_group": _sub_group,
    "objects": _objects,
    "distributed_data_parallel": _data_parallel,
}
