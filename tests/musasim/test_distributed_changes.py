"""What torch_musa changes of torch.distributed, in two processes with one simulated device each."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import pytest
import torch
import torch.distributed as dist
import torch.nn.functional as F

from support.fresh_process import run
from support.ranks import Ranks

pytestmark = pytest.mark.once

CLASSES = 6


def on_both(two: Ranks, function: Callable[..., Any], *arguments: Any) -> Any:
    """What both ranks give, which has to be the same."""
    one, other = two.run(function, *arguments)
    assert one == other
    return one


def random(*shape: int) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(len(shape)))


def mesh(size: int) -> Any:
    from torch.distributed.device_mesh import init_device_mesh

    return init_device_mesh("musa", (size,))


@pytest.fixture(scope="module")
def two_of_2_7_1() -> Iterator[Ranks]:
    """The release that has operators of its own for the normalisation by the root mean square."""
    ranks = Ranks(2, MUSASIM_RELEASE="2.7.1")
    yield ranks
    ranks.stop()


def rms_norm_of_parts(rank: int, size: int, dim: int | None) -> tuple[list[str], bool]:
    """Where the results are, and whether they are right."""
    from torch.distributed.tensor import Replicate, Shard, distribute_tensor

    x, weight, grad = (random(*shape).musa() for shape in ((4, 2, 6), (6,), (4, 2, 6)))
    there = mesh(size)
    placements = [Replicate() if dim is None else Shard(dim)]
    parts = [distribute_tensor(each, there, placements) for each in (x, grad)]
    whole = distribute_tensor(weight, there, [Replicate()])
    aten: Any = torch.ops.aten

    def both(x: Any, grad: Any, weight: Any) -> list[Any]:
        out, factors = aten._fused_rmsnorm_forward(x, [6], 1e-6, weight)
        return [out, *aten._fused_rmsnorm_backward(grad, factors, x, [6], 1e-6, weight)]

    found, expected = both(*parts, whole), both(x, grad, weight)
    right = all(torch.allclose(a.full_tensor(), b, atol=1e-6) for a, b in zip(found, expected))
    return [str(each.placements[0]) for each in found], right


@pytest.mark.full
@pytest.mark.parametrize(
    ("dim", "where", "weight"), [(0, "S(0)", "P"), (1, "S(1)", "P"), (2, "R", "R"), (None, "R", "R")]
)
def test_the_fused_rms_norm_keeps_rows_apart(two_of_2_7_1: Ranks, dim: int | None, where: str, weight: str) -> None:
    short = {"Shard(dim=0)": "S(0)", "Shard(dim=1)": "S(1)", "Replicate()": "R", "Partial(sum)": "P", "P(sum)": "P"}
    places, right = on_both(two_of_2_7_1, rms_norm_of_parts, dim)
    assert [short.get(place, place) for place in places] == [where, where, weight] and right


def cross_entropy_of_parts(rank: int, size: int, reduction: str) -> bool:
    from torch.distributed.tensor import Shard, distribute_tensor
    from torch_musa.distributed.loss import parallel_fused_cross_entropy

    logits, target = random(5, CLASSES), torch.tensor([0, 2, 3, 5, 1])
    there = mesh(size)
    parts = distribute_tensor(logits.musa().requires_grad_(), there, [Shard(1)])
    parts.retain_grad()
    loss: Any = parallel_fused_cross_entropy(parts, target.musa(), reduction, there.get_group())
    (loss * 2).backward()
    logits.requires_grad_()
    expected = F.cross_entropy(logits, target, reduction=reduction)
    (expected * 2).backward()
    mine = logits.grad.chunk(size, 1)[rank]  # type: ignore[union-attr]
    same_gradient = torch.allclose(parts.grad.to_local().cpu(), mine, atol=1e-6)  # type: ignore[union-attr]
    return bool(torch.allclose(loss.to_local().cpu(), expected.detach())) and same_gradient


@pytest.mark.full
@pytest.mark.parametrize("reduction", ["mean", "sum"])
def test_cross_entropy_of_classes_on_several_devices(two: Ranks, reduction: str) -> None:
    assert on_both(two, cross_entropy_of_parts, reduction)


@pytest.mark.parametrize("reduction", ["mean", "sum"])
def test_cross_entropy_of_one_device(torch_musa: Any, reduction: str) -> None:
    from torch_musa.distributed.loss import parallel_fused_cross_entropy

    logits, target = random(5, CLASSES).requires_grad_(), torch.tensor([0, 2, 3, 5, 1])
    there = logits.detach().musa().requires_grad_()  # type: ignore[attr-defined]
    loss = parallel_fused_cross_entropy(there.clone(), target.to("musa"), reduction=reduction)
    assert loss.shape == (1,)
    loss *= 3.0
    loss.backward()
    (F.cross_entropy(logits, target, reduction=reduction) * 3).backward()
    torch.testing.assert_close(there.grad.cpu(), logits.grad)


def test_cross_entropy_refuses_what_the_kernel_refuses(torch_musa: Any) -> None:
    from torch_musa import _ext
    from torch_musa.distributed.loss import parallel_fused_cross_entropy

    logits, target = random(5, CLASSES).to("musa"), torch.zeros(5, dtype=torch.int64, device="musa")
    with pytest.raises(AssertionError, match="only support mean and sum"):
        parallel_fused_cross_entropy(logits, target, "none")
    with pytest.raises(NotImplementedError, match="\"online_softmax\" not implemented for 'Half'"):
        _ext.online_softmax(logits.half(), target, 0)
    with pytest.raises(RuntimeError, match="only support contiguous logits"):
        _ext.online_softmax(logits.t(), torch.zeros(6, dtype=torch.int64, device="musa"), 0)


def scaler_with_infinity_on_one_rank(rank: int, size: int, where: str) -> tuple[str, float, list[float]]:
    from torch.distributed.fsdp.sharded_grad_scaler import ShardedGradScaler

    weight = torch.ones(1, device=where)
    weight.grad = torch.full((1,), float("inf") if rank == 1 else 1.0, device=where)
    scaler: Any = ShardedGradScaler(4.0, 0.25)  # type: ignore[arg-type]
    scaler.scale(torch.ones(1, device=where))
    scaler.step(torch.optim.SGD([weight], lr=1.0))
    scaler.update()
    return ShardedGradScaler.__module__, scaler.get_scale(), weight.tolist()


@pytest.mark.full
@pytest.mark.parametrize("where", ["musa", "cpu"])
def test_an_infinite_gradient_on_one_rank_stops_all(two: Ranks, where: str) -> None:
    found = on_both(two, scaler_with_infinity_on_one_rank, where)
    assert found == ("torch_musa.distributed.fsdp.sharded_grad_scaler", 1.0, [1.0])


def one_stream(rank: int, size: int) -> tuple[bool, bool, bool]:
    """Whether both kinds of sharded training use the computing stream alone, and keep nothing for others."""
    from torch.distributed.fsdp import FullyShardedDataParallel, fully_shard

    def trained(network: Any) -> Any:
        network(torch.ones(2, 4, device="musa")).sum().backward()
        return network

    wrapped = trained(FullyShardedDataParallel(torch.nn.Linear(4, 4).musa(), device_id=rank))
    current = torch.musa.current_stream()  # type: ignore[attr-defined]
    names = ("_unshard_stream", "_post_backward_stream", "_pre_unshard_stream", "_all_reduce_stream")
    by_wrapping = all(getattr(wrapped, name) == current for name in names)
    sharded = trained(fully_shard(torch.nn.Linear(4, 4).musa(), mesh=mesh(size)))
    context = sharded._get_fsdp_state()._comm_ctx
    streams = (context.all_gather_copy_in_stream, context.all_gather_stream, context.reduce_scatter_stream)
    kept = getattr(context, "reduce_scatter_state", None) or getattr(context, "reduce_scatter_states", None)
    return by_wrapping, all(each == current for each in streams), not kept and context.all_gather_state is None


def test_sharded_training_uses_one_stream(two: Ranks) -> None:
    assert on_both(two, one_stream) == (True, True, True)


@pytest.mark.parametrize(("level", "distinct"), [(0, 1), (1, 2), (2, 2), (3, 3), (4, 5)])
def test_levels_of_overlap_choose_streams(
    torch_musa: Any, monkeypatch: pytest.MonkeyPatch, level: int, distinct: int
) -> None:
    from torch_musa.distributed._composable.fsdp import custom_overlap_patch as overlap

    monkeypatch.setattr(overlap, "_FSDP2_OVERLAP_LEVEL", overlap.FSDP2OverlapLevel(level))
    context = SimpleNamespace()
    overlap.comm_context_lazy_init(context)
    assert len({stream.musa_stream for stream in (*vars(context).values(), torch_musa.current_stream())}) == distinct
    assert context.all_reduce_stream.priority == 0


@pytest.mark.parametrize(
    ("variables", "level"),
    [
        ({}, "NO_OVERLAP"),
        ({"TORCH_MUSA_FSDP2_OVERLAP_LEVEL": "2"}, "OVERLAP_FSDP_COMM_COPY_IN_WITH_COPY_OUT"),
        ({"TORCH_MUSA_FSDP2_OVERLAP_LEVEL": "4"}, "OVERLAP_HSDP_COMM"),
        ({"TORCH_MUSA_FSDP2_OVERLAP_LEVEL": "1"}, "warns"),
        ({"TORCH_MUSA_FSDP2_DISABLE_OVERLAP": "0"}, "warns"),
        ({"TORCH_MUSA_FSDP2_OVERLAP_LEVEL": "5"}, "refused"),
    ],
)
def test_the_level_comes_from_the_environment(
    torch_musa: Any, monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], level: str
) -> None:
    from torch_musa.distributed._composable.fsdp.custom_overlap_patch import _get_fsdp2_overlap_level

    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    if level == "refused":
        with pytest.raises(AssertionError):
            _get_fsdp2_overlap_level()
    elif level == "warns":
        with pytest.warns(UserWarning, match="prefetch order|deprecated"):
            _get_fsdp2_overlap_level()
    else:
        assert _get_fsdp2_overlap_level().name == level


def checkpoint_steps(rank: int, size: int) -> list[Any]:
    """Each rank's part, and what a failure on one rank is on all."""
    from torch.distributed.checkpoint.api import CheckpointException
    from torch.distributed.checkpoint.utils import _DistWrapper

    wrapper = _DistWrapper(None, True, 0)
    wrapper.scatter_object = wrapper.gather_object = None  # type: ignore[method-assign, assignment]
    parts = wrapper.reduce_scatter("step", lambda: rank, lambda all_ranks: [value * 10 for value in all_ranks])

    def failures(map_part: Callable[[], Any], reduce_parts: Callable[[Any], Any]) -> list[int]:
        with pytest.raises(CheckpointException) as caught:
            wrapper.reduce_scatter("step", map_part, reduce_parts)
        return sorted(caught.value.failures)

    of_one = failures(lambda: 1 // (1 - rank), lambda all_ranks: all_ranks)
    of_each = failures(lambda: rank, lambda all_ranks: [1 // 0])
    return [parts - 10 * rank, of_one, of_each == [rank]]


def test_every_rank_computes_all_parts_of_a_checkpoint(two: Ranks) -> None:
    assert on_both(two, checkpoint_steps) == [0, [1], True]


def test_a_mesh_makes_the_group_of_its_device_alone() -> None:
    code = """
import torch, torch_musa
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh
init_device_mesh("musa", (1,))
print(dist.get_backend(), dist.distributed_c10d._get_default_group()._device_types, torch.musa.current_device())
dist.destroy_process_group()
"""
    place = {"MASTER_ADDR": "localhost", "MASTER_PORT": "0", "RANK": "0", "WORLD_SIZE": "1", "LOCAL_RANK": "0"}
    # Gloo's own words of torch 2.9 go to stdout, too.
    assert run(code, **place).splitlines()[-1] == "mccl [device(type='musa')] 0"


@pytest.mark.parametrize("pinned", [False, True])
@pytest.mark.parametrize("shared", [False, True])
def test_room_for_a_state_dict_on_the_host(torch_musa: Any, pinned: bool, shared: bool) -> None:
    from torch.distributed import _state_dict_utils

    state = {"a": torch.ones(2, 3, device="musa"), "b": {"step": torch.tensor(1.0, device="musa"), "name": "x"}}
    made = _state_dict_utils._create_cpu_state_dict(state, pin_memory=pinned, share_memory=shared)
    room = made["a"]
    assert _state_dict_utils._create_cpu_state_dict.__module__ == "torch_musa.distributed._state_dict_utils"
    assert room.shape == (2, 3) and room.device.type == "cpu" and room.is_shared() is shared
    assert made["b"]["step"].tolist() == 0 and made["b"]["name"] == "x"
    assert not pinned or room.is_pinned("musa")


@pytest.mark.full
def test_nothing_is_imported_before_it_is_needed() -> None:
    code = """
import sys
import torch, torch_musa
wanted = ("torch.distributed.fsdp", "torch.distributed.tensor", "torch.distributed.checkpoint")
print([name for name in sys.modules if name.startswith(wanted)])
from torch_musa.distributed import fused_rmsnorm_strategy
from torch_musa.distributed.fsdp import ShardedGradScaler
from torch.distributed.fsdp.sharded_grad_scaler import ShardedGradScaler as torchs
print(torchs is ShardedGradScaler, fused_rmsnorm_strategy.__module__)
"""
    lines = run(code, MUSASIM_RELEASE="2.7.1").splitlines()
    assert lines == ["[]", "True torch_musa.distributed.tensor._ops"]


@pytest.mark.full
def test_unknown_names_are_missing(torch_musa: Any) -> None:
    with pytest.raises(AttributeError, match="no attribute 'absent'"):
        _ = torch_musa.distributed.absent
    with pytest.raises(ImportError):
        exec("from torch_musa.distributed.fsdp import absent")
    assert "absent" not in dir(sys.modules["torch_musa.distributed"]) and dist.is_available()
