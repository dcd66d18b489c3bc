"""The process group `mccl` in two processes with one device each. Both run the function of each test."""

from __future__ import annotations

import ctypes
from datetime import timedelta
from typing import Any

import pytest
import torch
import torch.distributed as dist

from musasim.base import release
from support.collective_table import COMPUTES, DTYPES, MOVES, maker, reduce_scatter_without_it
from support.fresh_process import run
from support.interpreter import TORCH
from support.ranks import Ranks, meeting_point
from support.waiting import wait_for

pytestmark = pytest.mark.once

SINCE_2_9_1 = release.chosen() >= (2, 9, 1)
# 2.7.1 raises one class for all that it refuses.
WRONG_VALUE, WRONG_TYPE = (ValueError, TypeError) if SINCE_2_9_1 else (RuntimeError, RuntimeError)
NEWER_THAN_2_7 = hasattr(dist.ProcessGroup, "split_group")
# Earlier ones ask for CUDA's backend.
SPLITS = TORCH >= (2, 12)


def ones(*shape: int, **options: Any) -> torch.Tensor:
    return torch.ones(*shape, device="musa", **options)


def test_registration() -> None:
    out = run(
        """
        import sys, torch
        before = set(sys.modules)
        import torch_musa
        print(sorted(name for name in set(sys.modules) - before if name.startswith("torch.distributed")))
        dist = torch.distributed
        group = dist.ProcessGroupMCCL
        print(dist.is_mccl_available(), dist.distributed_c10d.is_mccl_available())
        print(dist.Backend.default_device_backend_map["musa"], dist.Backend("MCCL"), dist.Backend.MCCL)
        print(dist.distributed_c10d.BackendConfig(dist.Backend("mccl")))
        print(issubclass(group, torch._C._distributed_c10d.Backend), group.__module__, group.__name__)
        options = group.Options(is_high_priority_stream=True)
        print(options.is_high_priority_stream, group.Options().is_high_priority_stream, options.split_from, options._timeout)
        options.split_color, options.group_name, options.global_ranks_in_group = 5, "name", [0, 1]
        print(options.split_color, options.group_name, options.global_ranks_in_group)
        """
    )
    assert out.splitlines() == [
        "[]",
        "True True",
        "mccl mccl mccl",
        "musa:mccl",
        "True torch.distributed.distributed_c10d ProcessGroupMCCL",
        "True False None 0:10:00",
        "5 name [0, 1]",
    ]


def compare_with_gloo(rank: int, size: int, dtype: torch.dtype) -> list[str]:
    """The names of the collectives whose results differ from gloo's for the same tensors on the CPU."""
    gloo = dist.new_group(backend="gloo")
    wrong = []
    reductions = {} if dtype in (torch.bool, torch.complex64) else COMPUTES
    for name, collective in {**MOVES, **reductions}.items():
        if dtype is torch.complex64 and name == "gather":
            continue  # gloo does not support it
        old = name == "reduce_scatter" and not NEWER_THAN_2_7
        expected = (reduce_scatter_without_it if old else collective)(maker("cpu", dtype), gloo, False)
        for async_op in (False, True):
            got = collective(maker("musa", dtype), None, async_op)
            alike = len(got) == len(expected) and all(torch.equal(a.cpu(), b) for a, b in zip(got, expected))
            if not (alike and all(tensor.is_musa for tensor in got)):
                wrong.append(f"{name}, async_op={async_op}")
    dist.destroy_process_group(gloo)
    return wrong


@pytest.mark.parametrize("dtype", DTYPES, ids=lambda dtype: str(dtype).removeprefix("torch."))
def test_collectives_give_what_gloo_gives(two: Ranks, dtype: torch.dtype) -> None:
    if dtype is torch.complex64 and not NEWER_THAN_2_7:
        pytest.skip("gloo does not support complex numbers in torch 2.7")
    assert two.run(compare_with_gloo, dtype) == [[], []]


@pytest.mark.slow
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.int64])
def test_collectives_of_four_ranks(dtype: torch.dtype) -> None:
    four = Ranks(4, MUSASIM_DEVICE_COUNT="4")
    try:
        assert four.run(compare_with_gloo, dtype) == [[]] * 4
        assert four.run(reductions_of_the_device) == [None] * 4
        assert four.run(subgroups) == [None] * 4
    finally:
        four.stop()


def reductions_of_the_device(rank: int, size: int) -> None:
    """Reductions that gloo lacks, and those that are refused because the real library would refuse them."""
    for dtype, average in (
        (torch.float32, (size + 1) / 2),
        (torch.bfloat16, (size + 1) / 2),
        (torch.int32, (size + 1) // 2),
    ):
        tensor = ones(3, dtype=dtype) * (rank + 1)
        dist.all_reduce(tensor, op=dist.ReduceOp.AVG)
        assert tensor.dtype is dtype and tensor.tolist() == [average] * 3
    whole, part = ones(2 * size) * rank, ones(2)
    dist.reduce_scatter_tensor(part, whole, op=dist.ReduceOp.AVG)
    assert part.tolist() == [(size - 1) / 2] * 2
    truth = torch.tensor([rank == 0, False, True], device="musa")
    dist.all_reduce(truth)
    assert truth.tolist() == [True, False, True]
    pairs = torch.full((2, 2), complex(rank, 1), device="musa")
    dist.all_reduce(pairs)
    assert pairs[0, 0].item() == complex(size * (size - 1) / 2, size)
    collected = [torch.empty_like(pairs) for _ in range(size)] if rank == 0 else None
    with pytest.raises(WRONG_TYPE, match=r"Input tensor data type .* supported for MCCL process group: ComplexFloat"):
        dist.gather(pairs, collected, dst=0)  # torch gives the library the pairs of all other collectives
    untouched = ones(3) * (rank + 1)
    dist.reduce(untouched, dst=0)
    assert untouched.tolist() == ([size * (size + 1) / 2] * 3 if rank == 0 else [rank + 1] * 3)


def test_reductions(two: Ranks) -> None:
    two.run(reductions_of_the_device)


def refusals(rank: int, size: int) -> None:
    for op in ("BAND", "BOR", "BXOR"):
        with pytest.raises(WRONG_VALUE, match="Unexpected ReduceOp: "):
            dist.all_reduce(ones(2, dtype=torch.int32), op=getattr(dist.ReduceOp, op))
    with pytest.raises(WRONG_VALUE, match="Unexpected ReduceOp: "):
        dist.all_reduce(ones(2), op=dist._make_nccl_premul_sum(2.0))
    with pytest.raises(WRONG_TYPE, match="AVG with Boolean"):
        dist.all_reduce(ones(2, dtype=torch.bool), op=dist.ReduceOp.AVG)
    spelled = "is not" if SINCE_2_9_1 else "in not"
    for dtype in (torch.int16, torch.float8_e4m3fnuz):
        with pytest.raises(WRONG_TYPE, match=f"data type {spelled} supported for MCCL process group: "):
            dist.broadcast(torch.zeros(2, dtype=dtype, device="musa"), src=0)
    with pytest.raises(WRONG_VALUE, match="Tensors must be contiguous"):
        dist.all_reduce(ones(2, 3).t())
    with pytest.raises(WRONG_VALUE, match="output tensor size must be equal to world_size times"):
        dist.all_gather_into_tensor(ones(size + 1), ones(1))
    with pytest.raises(WRONG_TYPE, match="input tensor must be the same type as the output tensor"):
        dist.reduce_scatter_tensor(ones(1), ones(size, dtype=torch.int32))
    if rank == 0:  # the root sees it before anything is sent
        with pytest.raises(
            WRONG_VALUE, match=r"ProcessGroupMCCL::gather: invalid tensor size at index 0 .expected \(2\), got \(3\)"
        ):
            dist.gather(ones(2), [ones(3) for _ in range(size)])
        with pytest.raises(WRONG_VALUE, match="ProcessGroupMCCL::scatter: invalid tensor size at index 1"):
            dist.scatter(ones(2), [ones(2), ones(3)])
    with pytest.raises(RuntimeError, match="invalid device ordinal"):
        dist.barrier(device_ids=[99])
    assert not dist.group.WORLD._get_backend(torch.device("musa")).supports_splitting
    with pytest.raises(RuntimeError, match=r"[Nn]o backend type associated with device type cpu"):
        dist.all_reduce(torch.ones(1))
    with pytest.raises(ValueError, match=r"only implemented for GLOO|requires a group with a CPU-capable backend"):
        dist.monitored_barrier()
    with pytest.raises(RuntimeError, match="MCCL does not support recvAnysource"):
        dist.recv(ones(1))
    dist.barrier()  # the group still works


def test_collectives_that_the_library_lacks_raise(two: Ranks) -> None:
    two.run(refusals)


@pytest.mark.full
def test_2_7_1_raises_one_class_of_errors() -> None:
    older = Ranks(2, MUSASIM_RELEASE="2.7.1")
    try:
        older.run(refusals)
        older.run(orders_of_dimensions)
    finally:
        older.stop()


def orders_of_dimensions(rank: int, size: int) -> None:
    """What is sent lies in memory as the tensor does, whatever the order of its dimensions."""
    columns = (torch.arange(6.0, device="musa").view(2, 3) * (1 - rank)).t()
    gaps = torch.zeros(2, 4, device="musa")[:, ::2]
    if rank == 0:
        dist.send(columns, 1)
    else:
        dist.recv(columns, 0)
        assert columns.t().flatten().tolist() == [0, 1, 2, 3, 4, 5]
    if SINCE_2_9_1:
        with pytest.raises(ValueError, match="Tensors for P2P must be non-overlapping and dense"):
            dist.send(gaps, 1 - rank)


def test_messages_need_not_be_contiguous(two: Ranks) -> None:
    two.run(orders_of_dimensions)


def layouts(rank: int, size: int) -> None:
    image = (ones(2, 3, 4, 4) * (rank + 1)).to(memory_format=torch.channels_last)
    dist.all_reduce(image)
    assert image.is_contiguous(memory_format=torch.channels_last) and image.eq(3).all()
    whole = torch.zeros(4, 4, device="musa")
    dist.all_reduce(part := whole[1:3])
    dist.broadcast(part, src=0)
    parameter = torch.nn.Parameter(ones(2) * rank)
    with torch.no_grad():
        dist.broadcast(parameter, src=1)
    assert parameter.tolist() == [1, 1] and parameter.requires_grad
    # Outputs in a list may have any layout, because the library copies into them.
    columns = torch.zeros(3, size, device="musa")
    dist.all_gather(list(columns.t().unbind()), ones(3) * rank)
    assert columns.tolist() == [[0, 1]] * 3
    transposed = [torch.zeros(2, 3, device="musa").t() for _ in range(size)]
    dist.all_gather(transposed, torch.arange(6.0, device="musa").view(3, 2) + rank)
    assert transposed[1].tolist() == [[1, 2], [3, 4], [5, 6]]
    in_place = torch.zeros(size, 2, device="musa")
    in_place[rank] = rank + 5
    dist.all_gather_into_tensor(in_place, in_place[rank])
    assert in_place.tolist() == [[5, 5], [6, 6]]
    scalar = torch.tensor(rank + 1.0, device="musa")
    dist.all_reduce(scalar)
    assert scalar.item() == 3
    for empty in (ones(0), ones(0, 3)):
        dist.all_reduce(empty)
        dist.broadcast(empty, src=0)
        dist.all_gather([ones(empty.shape) for _ in range(size)], empty)


def test_layouts(two: Ranks) -> None:
    two.run(layouts)


def uneven_lists(rank: int, size: int) -> None:
    gathered = [torch.zeros(index + 1, device="musa") for index in range(size)]
    dist.all_gather(gathered, ones(rank + 1) * (rank + 5))
    assert [tensor.tolist() for tensor in gathered] == [[5], [6, 6]]
    received = [torch.zeros(rank + 1, device="musa") for _ in range(size)]
    dist.all_to_all(received, [ones(to + 1) * rank for to in range(size)])
    assert [tensor.tolist() for tensor in received] == [[0] * (rank + 1), [1] * (rank + 1)]
    mine = torch.zeros(rank + 1, device="musa")
    dist.reduce_scatter(mine, [ones(to + 1) * (rank + 1) for to in range(size)])
    assert mine.tolist() == [3] * (rank + 1)


def test_lists_of_tensors_of_different_sizes(two: Ranks) -> None:
    two.run(uneven_lists)


def objects(rank: int, size: int) -> None:
    everyone: list[Any] = [None] * size
    dist.all_gather_object(everyone, {"rank": rank, "device": torch.device("musa", rank)})
    assert everyone == [{"rank": index, "device": torch.device("musa", index)} for index in range(size)]
    news = [("hello", 1), None] if rank == 1 else [None, None]
    dist.broadcast_object_list(news, src=1)
    assert news == [("hello", 1), None]
    collected: list[Any] = [None] * size
    dist.gather_object(f"from {rank}", collected if rank == 0 else None, dst=0)
    assert collected == (["from 0", "from 1"] if rank == 0 else [None, None])
    given: list[Any] = [None]
    dist.scatter_object_list(given, ["a", "b"] if rank == 0 else None, src=0)
    assert given == ["ab"[rank]]


def test_objects(two: Ranks) -> None:
    two.run(objects)


def handles(rank: int, size: int) -> None:
    tensor = ones(4)
    work = dist.all_reduce(tensor, async_op=True)
    doubled = work.get_future().then(lambda future: future.value()[0] * 2)
    assert doubled.wait().tolist() == [4] * 4 and doubled.value().is_musa
    assert work.wait() and work.is_completed()
    # torch_musa's ProcessGroupMCCL.cpp, as NCCL's: it is deprecated there.
    with pytest.raises(NotImplementedError, match="isSuccess"):
        work.is_success()
    assert work.get_future().wait()[0].data_ptr() == tensor.data_ptr()
    # A callback may use the group itself, and wait.
    nested = dist.all_reduce(tensor, async_op=True).get_future()
    answer = nested.then(lambda _: dist.all_reduce(tensor, async_op=True).get_future().wait()[0].sum())
    assert answer.wait().item() == 32
    # Many at once, which finish in the order of the calls.
    many = [torch.full((3,), float(index), device="musa") for index in range(20)]
    for pending in [dist.all_reduce(each, async_op=True) for each in many]:
        pending.wait()
    assert [each[0].item() for each in many] == [2.0 * index for index in range(20)]
    barrier = dist.barrier(async_op=True)
    barrier.wait()


def test_handles_and_futures(two: Ranks) -> None:
    two.run(handles)


def messages(rank: int, size: int) -> None:
    other = 1 - rank
    if rank == 0:
        for index in range(5):
            dist.send(torch.full((index,), float(index), device="musa"), 1, tag=index)
    else:
        for index in range(5):
            dist.recv(received := torch.zeros(index, device="musa"), 0)
            assert received.tolist() == [index] * index
    columns = torch.arange(6.0, device="musa").view(2, 3).t()
    if rank == 0:
        dist.send(columns, 1)  # only collectives ask for contiguous memory
    else:
        dist.recv(received := torch.zeros(2, 3, device="musa").t(), 0)
        assert received.equal(columns)
    # Both send before they receive, asynchronously and in one batch.
    sending = dist.isend(ones(1000) * rank, other)
    dist.irecv(received := torch.zeros(1000, device="musa"), other).wait()
    sending.wait()
    assert received.eq(other).all()
    left, right = torch.zeros(2, device="musa"), torch.zeros(3, device="musa")
    batch = [
        dist.P2POp(dist.isend, ones(2) * rank, other),
        dist.P2POp(dist.irecv, left, other),
        dist.P2POp(dist.irecv, right, other),
        dist.P2POp(dist.isend, ones(3) * rank, other),
    ]
    for request in dist.batch_isend_irecv(batch):
        request.wait()
    assert left.tolist() == [other] * 2 and right.tolist() == [other] * 3


def test_messages(two: Ranks) -> None:
    two.run(messages)


def coalesced(rank: int, size: int) -> None:
    group, device = dist.group.WORLD, torch.device("musa", rank)
    tensors = [ones(2) * index for index in range(3)]
    with dist._coalescing_manager(group=group, device=device, async_ops=True) as several:
        for tensor in tensors:
            dist.all_reduce(tensor)
    several.wait()
    assert [tensor.tolist() for tensor in tensors] == [[0, 0], [2, 2], [4, 4]]
    wholes = [torch.zeros(2 * size, device="musa") for _ in range(2)]
    with dist._coalescing_manager(group=group, device=device):
        for index, whole in enumerate(wholes):
            dist.all_gather_into_tensor(whole, ones(2) * (rank + index))
    assert [whole.tolist() for whole in wholes] == [[0, 0, 1, 1], [1, 1, 2, 2]]
    parts = [torch.zeros(1, device="musa") for _ in range(2)]
    with dist._coalescing_manager(group=group, device=device):
        for part in parts:
            dist.reduce_scatter_tensor(part, torch.arange(2.0, device="musa"))
    assert [part.item() for part in parts] == [2 * rank] * 2
    backend = group._get_backend(device)
    backend._group_start()
    pending = dist.all_reduce(tensors[1], async_op=True)
    backend._group_end()
    pending.wait()
    assert tensors[1].tolist() == [4, 4]


def test_coalescing(two: Ranks) -> None:
    two.run(coalesced)


def subgroups(rank: int, size: int) -> None:
    half = size // 2
    halves = [list(range(half)), list(range(half, size))]
    groups = [dist.new_group(ranks) for ranks in halves]
    mine = groups[rank // half]
    tensor = ones(2)
    dist.all_reduce(tensor, group=mine)
    assert tensor.tolist() == [half] * 2 and dist.get_backend(mine) == "mccl" and dist.get_world_size(mine) == half
    mixed = dist.new_group(backend="cpu:gloo,musa:mccl")
    for device in ("cpu", "musa"):
        tensor = torch.ones(2, device=device)
        dist.all_reduce(tensor, group=mixed)
        assert tensor.tolist() == [size] * 2
    turned = dist.new_group(list(reversed(range(size))), backend="mccl", timeout=timedelta(seconds=30))
    dist.broadcast(tensor := ones(1) * rank, src=size - 1, group=turned)
    assert tensor.item() == size - 1
    for group in (mine, mixed, turned):
        dist.destroy_process_group(group)
    dist.all_reduce(tensor := ones(1))
    assert tensor.item() == size


def test_subgroups(two: Ranks) -> None:
    two.run(subgroups)


def parts_of_a_group(rank: int, size: int, backend: Any) -> None:
    """torch_musa says that its groups cannot be split, and splits and merges them for those who do not ask."""
    with pytest.raises(RuntimeError, match="does not support splitting"):
        dist.split_group(split_ranks=[[0], [1]])
    world = dist.group.WORLD
    parts = [world.split_group([each], group_name=f"part {each}", group_desc="alone") for each in range(size)]
    assert [part is not None for part in parts] == [each == rank for each in range(size)]
    alone = parts[rank]
    dist.all_reduce(tensor := ones(2), group=alone)
    assert tensor.tolist() == [1, 1] and alone.size() == 1 and alone.group_desc == "alone"
    both = world.split_group([0, 1], timeout=timedelta(seconds=50), group_name="both")
    dist.all_reduce(tensor, group=both)
    assert tensor.tolist() == [2, 2]
    assert both._get_backend(torch.device("musa")).options._timeout == timedelta(seconds=50)
    merged = alone.merge_remote_group(world.get_group_store(), size, timedelta(seconds=40), "merged")
    dist.all_reduce(tensor := torch.full((1,), rank + 1.0, device="musa"), group=merged)
    assert merged.size() == size and tensor.item() == 3


def again(rank: int, size: int, rendezvous: str) -> None:
    """Destroy the default group, create it again with a device bound to it, and check the behaviour of such a group."""
    from support.ranks import connect

    dist.destroy_process_group()
    device = torch.device("musa", rank)
    connect(rank, size, rendezvous, device_id=device)
    backend = dist.group.WORLD._get_backend(device)
    assert backend._is_initialized() and backend.options._timeout == timedelta(seconds=60)
    assert dist.group.WORLD.bound_device_id == device
    if SPLITS and SINCE_2_9_1:
        parts_of_a_group(rank, size, backend)
    elif SPLITS:
        with pytest.raises(RuntimeError, match="does not support splitting"):
            dist.split_group(split_ranks=[[0], [1]])
    with pytest.raises(dist.DistBackendError, match="not on device passed to init_process_group"):
        dist.all_reduce(torch.ones(2, device=f"musa:{1 - rank}"))
    dist.barrier(device_ids=[rank])
    dist.barrier()
    subgroup = dist.new_group([0])
    assert (subgroup is not dist.GroupMember.NON_GROUP_MEMBER) == (rank == 0)
    assert backend.comm_split_count() == 0, "MCCL splits no communicator"


def test_a_group_is_created_again_with_a_device(two: Ranks) -> None:
    two.run(again, meeting_point())


def by_the_librarys_own_functions(rank: int, size: int) -> None:
    """A program takes the group's communicator and calls libmccl."""
    library = ctypes.CDLL("libmccl.so.2")
    backend = dist.group.WORLD._get_backend(torch.device("musa"))
    dist.barrier()
    communicator, answer = ctypes.c_void_p(backend._comm_ptr()), ctypes.c_int()
    assert backend._comm_ptr() == communicator.value
    assert library.mcclCommCount(communicator, ctypes.byref(answer)) == 0 and answer.value == size
    assert library.mcclCommUserRank(communicator, ctypes.byref(answer)) == 0 and answer.value == rank
    tensor = torch.full((3,), rank + 1.0, device="musa")
    memory, stream = ctypes.c_void_p(tensor.data_ptr()), ctypes.c_void_p(torch.musa.current_stream().musa_stream)
    for _ in range(2):
        assert library.mcclAllReduce(memory, memory, ctypes.c_size_t(3), 7, 0, communicator, stream) == 0
    assert tensor.tolist() == [6, 6, 6]


@pytest.mark.skipif(not release.since("2.9.1"), reason="before, a group keeps its communicator to itself")
def test_the_communicator_is_one_of_the_library(two: Ranks) -> None:
    two.run(by_the_librarys_own_functions)


def works_in_flight(rank: int, size: int) -> list[int]:
    """How many works wait_tensor() knows after a collective, after wait(), after another collective, after wait_tensor()."""
    from torch._C._distributed_c10d import _get_work_registry_size as known
    from torch.distributed._functional_collectives import allow_inflight_collective_as_graph_input_ctx

    counts = []
    with allow_inflight_collective_as_graph_input_ctx():
        work = dist.all_reduce(tensor := ones(2), async_op=True)
        counts.append(known())
        work.wait()
        counts.append(known())
        dist.all_reduce(tensor, async_op=True)
        counts.append(known())
        torch.ops.c10d_functional.wait_tensor(tensor)
        counts.append(known())
    assert tensor.tolist() == [4, 4]
    return counts


def test_wait_takes_a_work_out_of_the_registry(two: Ranks) -> None:
    assert two.run(works_in_flight) == [[1, 0, 1, 0]] * 2


def durations(rank: int, size: int) -> None:
    group = dist.new_group(backend="mccl")
    with pytest.raises(RuntimeError, match="timing was enabled"):
        dist.all_reduce(ones(2), group=group, async_op=True)._get_duration()
    group._enable_collectives_timing()
    work = dist.all_reduce(ones(2), group=group, async_op=True)
    work.wait()
    assert work._get_duration() > 0


def test_durations_are_measured_when_a_program_asks(two: Ranks) -> None:
    two.run(durations)


def device_maps(rank: int, size: int, rendezvous: list[str]) -> None:
    from support.ranks import connect

    # A group of Gloo is not to go at once: its destructor waits, with the interpreter's lock, for a thread that lets go of the last
    # collective's tensors, which needs that lock. So torch 2.7 hangs about every second time.
    left = []
    for address, backend in zip(rendezvous, (None, "cpu:gloo,musa:mccl", "mccl")):
        left.append(dist.group.WORLD)
        dist.destroy_process_group()
        connect(rank, size, address, backend)
        devices = ("cpu", "musa") if backend == "cpu:gloo,musa:mccl" else ("musa",)
        for device in devices:
            dist.all_reduce(tensor := torch.ones(1, device=device))
            assert tensor.item() == size
        everyone: list[Any] = [None] * size
        dist.all_gather_object(everyone, rank)
        assert everyone == list(range(size))


def test_device_maps(two: Ranks) -> None:
    two.run(device_maps, [meeting_point() for _ in range(3)])


def disagreements(rank: int, size: int) -> list[str]:
    def message(call: Any) -> str:
        with pytest.raises(dist.DistBackendError) as caught:
            call()
        return str(caught.value)

    texts = [
        message(lambda: dist.all_reduce(ones(2 + rank))),
        message(lambda: dist.all_reduce(ones(2, dtype=(torch.float32, torch.int64)[rank]))),
        message(lambda: dist.all_reduce(ones(2)) if rank == 0 else dist.barrier()),
        message(lambda: dist.broadcast(ones(2), src=rank)),
        message(lambda: dist.all_reduce(ones(2), op=(dist.ReduceOp.MAX, dist.ReduceOp.SUM)[rank])),
        message(lambda: dist.all_to_all_single(ones(4), ones(4), [1, 3], [2, 2])),
        message(lambda: dist.gather(ones(2 + rank), [ones(2), ones(2)] if rank == 0 else None)),
    ]
    dist.all_reduce(tensor := ones(2, 3) if rank == 0 else ones(6))  # the number of elements is what counts
    assert tensor.sum().item() == 12
    if rank == 0:
        dist.send(ones(4), 1)
        dist.send(ones(2), 1)
    else:
        texts.append(message(lambda: dist.recv(ones(5), 0)))
        dist.recv(tensor := torch.zeros(2, device="musa"), 0)
        assert tensor.tolist() == [1, 1]
    return texts


def test_ranks_that_disagree_get_an_error_that_lists_them(two: Ranks) -> None:
    first, second = two.run(disagreements)
    assert first == second[:-1]
    assert (
        "rank 0: ALLREDUCE of shape [2] and type Float, SUM\n  rank 1: ALLREDUCE of shape [3] and type Float"
        in first[0]
    )
    assert "type Float, SUM\n" in first[1] and "type Long, SUM\n" in first[1]
    assert "rank 0: ALLREDUCE" in first[2] and "rank 1: BARRIER" in first[2]
    assert "root 0" in first[3] and "root 1" in first[3]
    assert "MAX" in first[4] and "SUM" in first[4]
    assert "elements to each rank [2, 2], from each rank [1, 3]" in first[5]
    assert "rank 0: GATHER" in first[6]
    assert "rank 0: SEND of shape [4] and type Float\n  rank 1: RECV of shape [5]" in second[-1]


def streams_and_graphs(rank: int, size: int) -> None:
    tensor = ones(2)
    torch.musa._sleep(300_000_000)
    work = dist.all_reduce(tensor, async_op=True)
    assert not work.is_completed()  # it waits for the work of its stream
    work.wait()
    assert work.is_completed() and torch.musa.current_stream().query()
    graph, static = torch.musa.MUSAGraph(), ones(2)
    with torch.musa.graph(graph):
        static.add_(1)
        dist.all_reduce(static)
    assert static.tolist() == [1, 1]  # recorded, not run
    for _ in range(2):
        graph.replay()
    assert static.tolist() == [10, 10]


def test_streams_and_graphs(two: Ranks) -> None:
    two.run(streams_and_graphs)


def ring_in_a_graph(rank: int, size: int) -> list[float]:
    sent, received = torch.full((2,), rank + 1.0, device="musa"), torch.zeros(2, device="musa")

    def ring() -> None:
        after, before = (rank + 1) % size, (rank - 1) % size
        operations = [dist.P2POp(dist.isend, sent, after), dist.P2POp(dist.irecv, received, before)]
        for work in dist.batch_isend_irecv(operations):
            work.wait()

    ring()
    graph = torch.musa.MUSAGraph()
    with torch.musa.graph(graph):
        ring()
    sent.mul_(10)
    graph.replay()
    return received.tolist()


def test_a_ring_of_messages_in_a_graph(two: Ranks) -> None:
    """All of a group of messages are one operation, also when it is replayed."""
    assert two.run(ring_in_a_graph) == [[20, 20], [10, 10]]


def gathered_future(rank: int, size: int) -> list[Any]:
    def value(parts: list[torch.Tensor]) -> list[list[float]]:
        work = dist.all_gather(parts, ones(parts[rank].numel()) * (rank + 1), async_op=True)
        return [tensor.tolist() for tensor in work.get_future().wait()]

    return [value([ones(2), ones(2)]), value([ones(1), ones(2)])]


def test_the_future_of_all_gather_has_one_tensor_of_all_ranks(two: Ranks) -> None:
    """Where all parts have one size. torch's hook that quantizes gradients reads it."""
    assert two.run(gathered_future) == [[[[[1, 1], [2, 2]]], [[1], [2, 2]]]] * 2


def bookkeeping(rank: int, size: int) -> None:
    backend = dist.group.WORLD._get_backend(torch.device("musa"))
    before = torch.musa.memory_allocated()
    tensor = ones(1 << 20)
    used = torch.musa.max_memory_allocated()
    dist.all_reduce(tensor)
    assert torch.musa.max_memory_allocated() == used  # gloo works on the device's memory itself
    del tensor
    wait_for(
        lambda: torch.musa.memory_allocated() <= before, 30
    )  # a thread that watches the work may hold it a moment longer
    count = backend._get_sequence_number_for_group()
    dist.barrier()
    assert backend._get_sequence_number_for_group() == count + 1
    timeout = backend.options._timeout
    backend._add_ephemeral_timeout(timedelta(seconds=7))
    work = dist.all_reduce(ones(1), async_op=True)
    assert backend._verify_work_timeout(work, timeout + timedelta(seconds=7))
    dist.barrier()  # a thread that waits for the work may continue a moment before its extra time is taken back
    assert backend._verify_work_timeout(dist.all_reduce(ones(1), async_op=True), timeout)
    assert backend.get_error().name == "SUCCESS" and backend.name() == "mccl"
    assert dist.get_backend() == "mccl" and isinstance(backend, dist.ProcessGroupMCCL)


def test_collectives_use_no_extra_memory_and_are_counted(two: Ranks) -> None:
    two.run(bookkeeping)


def profiled(rank: int, size: int) -> set[str]:
    with torch.autograd.profiler.profile() as profile:
        dist.all_reduce(ones(2))
        dist.barrier()
        dist.send(ones(2), 1) if rank == 0 else dist.recv(ones(2), 0)
    return {event.name for event in profile.function_events if event.name.startswith("mccl:")}


@pytest.mark.full
def test_the_profiler_sees_collectives(two: Ranks) -> None:
    both = {"mccl:all_reduce", "mccl:all_reduce_barrier"}
    assert two.run(profiled) == [both | {"mccl:send 0->1"}, both | {"mccl:recv 1<-0"}]
