"""PyTorch's users of process groups, in two processes with one simulated device each, compared with one process on the CPU."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.distributed as dist
from torch import nn

from support.ranks import Ranks

pytestmark = pytest.mark.once

BATCH = 8


def model() -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 16), nn.ReLU(), nn.Linear(16, 4))


def data() -> torch.Tensor:
    return torch.randn(BATCH, 6, generator=torch.Generator().manual_seed(1))


def train(network: Any, inputs: torch.Tensor, steps: int = 3, parameters: Any = None) -> list[float]:
    """The loss of each step. The average over the ranks of each rank's mean is the mean of all."""
    optimizer = torch.optim.SGD(parameters or network.parameters(), lr=0.1)
    losses = []
    for _ in range(steps):
        optimizer.zero_grad()
        loss = network(inputs).square().mean()
        loss.backward()
        optimizer.step()
        losses.append(loss.detach())
    return [shared_mean(loss) for loss in losses]


def shared_mean(loss: torch.Tensor) -> float:
    if loss.is_musa:
        dist.all_reduce(loss, op=dist.ReduceOp.AVG)
    return loss.item()


def expected() -> list[float]:
    return train(model(), data())


def same(losses: list[float], tolerance: float = 1e-5) -> bool:
    return all(abs(a - b) < tolerance for a, b in zip(losses, expected())) and losses[-1] < losses[0]


def my_part(rank: int, size: int) -> torch.Tensor:
    return data().chunk(size)[rank].musa()


def ddp(rank: int, size: int) -> None:
    from torch.distributed.algorithms.ddp_comm_hooks import default_hooks, powerSGD_hook
    from torch.nn.parallel import DistributedDataParallel

    def wrapped(**options: Any) -> Any:
        return DistributedDataParallel(model().musa(), device_ids=[rank], **options)

    inputs = my_part(rank, size)
    for options in (
        {},
        {"gradient_as_bucket_view": True, "bucket_cap_mb": 0.0005},
        {"static_graph": True},
        {"find_unused_parameters": True, "output_device": rank},
    ):
        assert same(train(wrapped(**options), inputs)), options
    hooks: list[tuple[Any, Any, float]] = [
        (None, default_hooks.allreduce_hook, 1e-5),
        (None, default_hooks.fp16_compress_hook, 1e-2),
    ]
    for state, hook, tolerance in hooks:
        network = wrapped(gradient_as_bucket_view=True)
        network.register_comm_hook(state, hook)
        assert same(train(network, inputs), tolerance), hook
    network = wrapped()
    network.register_comm_hook(
        powerSGD_hook.PowerSGDState(None, matrix_approximation_rank=1, start_powerSGD_iter=2),
        powerSGD_hook.powerSGD_hook,
    )
    losses = train(network, inputs, steps=5)  # the callbacks wait for collectives that they start
    assert losses[-1] < losses[0]
    with network.no_sync():
        network(inputs).sum().backward()
    network(inputs).sum().backward()


@pytest.mark.slow
def test_ddp(two: Ranks) -> None:
    two.run(ddp)


def sync_batch_norm(rank: int, size: int) -> None:
    norm = nn.SyncBatchNorm.convert_sync_batchnorm(nn.BatchNorm1d(6)).musa()
    reference = nn.BatchNorm1d(6)
    network = nn.parallel.DistributedDataParallel(norm, device_ids=[rank])
    output = network(my_part(rank, size))
    whole = reference(data())
    torch.testing.assert_close(output.cpu(), whole.chunk(size)[rank])
    output.square().sum().backward()
    torch.testing.assert_close(norm.running_var.cpu(), reference.running_var)


@pytest.mark.full
def test_sync_batch_norm(two: Ranks) -> None:
    two.run(sync_batch_norm)


def fsdp1(rank: int, size: int) -> None:
    from torch.distributed.fsdp import FullyShardedDataParallel, MixedPrecision, ShardingStrategy
    from torch.distributed.fsdp.wrap import always_wrap_policy

    device = torch.device("musa", rank)
    for options in (
        {"auto_wrap_policy": always_wrap_policy},
        {"sharding_strategy": ShardingStrategy.SHARD_GRAD_OP},
    ):
        network = FullyShardedDataParallel(model().musa(), device_id=device, use_orig_params=True, **options)  # type: ignore[arg-type]
        assert same(train(network, my_part(rank, size))), options
        full = FullyShardedDataParallel.summon_full_params(network)
        with full:
            assert sum(parameter.numel() for parameter in network.parameters()) == sum(
                p.numel() for p in model().parameters()
            )
    half = MixedPrecision(param_dtype=torch.bfloat16, reduce_dtype=torch.bfloat16)
    network = FullyShardedDataParallel(model().musa(), device_id=device, mixed_precision=half)
    assert same(train(network, my_part(rank, size).bfloat16()), 2e-2)


@pytest.mark.full
def test_fsdp1(two: Ranks) -> None:
    two.run(fsdp1)


def fsdp2(rank: int, size: int) -> None:
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import CPUOffloadPolicy, MixedPrecisionPolicy, fully_shard

    mesh = init_device_mesh("musa", (size,))
    half = MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)
    for options, tolerance in (({}, 1e-5), ({"reshard_after_forward": False}, 1e-5), ({"mp_policy": half}, 2e-2)):
        network: Any = model().musa()
        for layer in network:
            if isinstance(layer, nn.Linear):
                fully_shard(layer, mesh=mesh, **options)  # type: ignore[call-overload]
        fully_shard(network, mesh=mesh, **options)  # type: ignore[call-overload]
        inputs = my_part(rank, size)
        assert same(train(network, inputs), tolerance), options
        weight = network[0].weight
        assert weight.device.type == "musa" and weight.to_local().shape[0] * size == weight.shape[0]
        assert weight.full_tensor().shape == (16, 6)
    network = fully_shard(model().musa(), mesh=mesh, offload_policy=CPUOffloadPolicy(pin_memory=False))
    assert same(train(network, my_part(rank, size)))


def test_fsdp2(two: Ranks) -> None:
    two.run(fsdp2)


def dtensors(rank: int, size: int) -> None:
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.tensor import Replicate, Shard, distribute_tensor
    from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module

    mesh = init_device_mesh("musa", (size,))
    whole = torch.arange(24.0).view(6, 4).musa()
    sharded = distribute_tensor(whole, mesh, [Shard(0)])
    product = sharded.redistribute(placements=[Shard(1)]) @ distribute_tensor(torch.eye(4).musa(), mesh, [Shard(0)])
    assert torch.equal(product.full_tensor(), whole)
    assert torch.equal(sharded.redistribute(placements=[Replicate()]).to_local(), whole)
    network = model().musa()
    parallel = parallelize_module(network, mesh, {"0": ColwiseParallel(), "2": RowwiseParallel()})
    torch.testing.assert_close(parallel(data().musa()).cpu(), model()(data()))
    square = init_device_mesh("musa", (1, size), mesh_dim_names=("outer", "inner"))
    assert square["inner"].get_group().size() == size and square.device_type == "musa"


def test_dtensor_and_tensor_parallel(two: Ranks) -> None:
    two.run(dtensors)


def functional(rank: int, size: int) -> None:
    import torch.distributed._functional_collectives as collectives
    import torch.distributed.nn.functional as differentiable

    tensor = torch.full((2,), rank + 1.0, device="musa", requires_grad=True)
    total = collectives.all_reduce(tensor.detach(), "sum", dist.group.WORLD)
    assert total.tolist() == [3, 3]
    gathered = collectives.all_gather_tensor(tensor.detach(), 0, dist.group.WORLD)
    assert gathered.tolist() == [1, 1, 2, 2]
    differentiable.all_reduce(tensor).sum().backward()
    assert tensor.grad is not None and tensor.grad.tolist() == [size, size]


def test_functional_collectives(two: Ranks) -> None:
    two.run(functional)


def zero(rank: int, size: int) -> None:
    from torch.distributed.optim import ZeroRedundancyOptimizer

    network = nn.parallel.DistributedDataParallel(model().musa(), device_ids=[rank])
    optimizer = ZeroRedundancyOptimizer(network.parameters(), torch.optim.SGD, lr=0.1)
    losses = []
    for _ in range(3):
        optimizer.zero_grad()
        loss = network(my_part(rank, size)).square().mean()
        loss.backward()
        optimizer.step()
        losses.append(shared_mean(loss.detach()))
    assert same(losses)


def test_zero_redundancy_optimizer(two: Ranks) -> None:
    two.run(zero)


def checkpoint(rank: int, size: int, folder: str) -> None:
    import torch.distributed.checkpoint as dcp
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard

    mesh = init_device_mesh("musa", (size,))

    def sharded() -> Any:
        return fully_shard(model().musa(), mesh=mesh)

    network: Callable[..., Any] = sharded()
    train(network, my_part(rank, size))
    dcp.save(network.state_dict(), checkpoint_id=folder)  # type: ignore[attr-defined]
    restored = sharded()
    state = restored.state_dict()
    dcp.load(state, checkpoint_id=folder)
    restored.load_state_dict(state)
    for saved, loaded in zip(network.parameters(), restored.parameters()):  # type: ignore[attr-defined]
        assert torch.equal(saved.full_tensor(), loaded.full_tensor())


@pytest.mark.full
def test_distributed_checkpoint(two: Ranks, tmp_path: Any) -> None:
    two.run(checkpoint, str(tmp_path))
