"""libmccl.so.2 by ctypes, in processes that meet by an identifier and not by a process group; and in threads of one process."""

from __future__ import annotations

import ctypes
import multiprocessing as mp
import threading
from collections.abc import Callable, Iterator
from ctypes import byref, c_int, c_size_t, c_void_p
from typing import Any

import pytest
import torch

from support.ranks import Ranks

pytestmark = pytest.mark.once

OK, INVALID_ARGUMENT, INVALID_USAGE, REMOTE_ERROR = 0, 4, 5, 6
SUM, PRODUCT, MAXIMUM, MINIMUM, AVERAGE = range(5)
TYPES = {
    torch.int8: 0,
    torch.uint8: 1,
    torch.int32: 2,
    torch.int64: 4,
    torch.float16: 6,
    torch.float32: 7,
    torch.float64: 8,
    torch.bfloat16: 9,
}
OPERATIONS: dict[int, Callable[[torch.Tensor], torch.Tensor]] = {
    SUM: lambda each: each.sum(0, dtype=each.dtype),
    PRODUCT: lambda each: each.prod(0, dtype=each.dtype),
    MAXIMUM: lambda each: each.amax(0),
    MINIMUM: lambda each: each.amin(0),
}
SIZE = 3


class UniqueId(ctypes.Structure):
    _fields_ = [("internal", ctypes.c_byte * 128)]


class Library:
    """MCCL's functions with tensors for pointers. A result that is not expected raises with the library's own text."""

    def __init__(self) -> None:
        self.library = ctypes.CDLL("libmccl.so.2")
        self.library.mcclGetErrorString.restype = self.library.mcclGetLastError.restype = ctypes.c_char_p

    def __call__(self, name: str, *arguments: Any, expected: int = OK) -> None:
        result = getattr(self.library, f"mccl{name}")(*map(_argument, arguments))
        assert result == expected, (
            f"{name}: {self.library.mcclGetErrorString(result)}: {self.library.mcclGetLastError(None)}"
        )

    def unique_id(self) -> bytes:
        made = UniqueId()
        self("GetUniqueId", byref(made))
        return bytes(made)

    def communicator(self, rank: int, size: int, unique_id: bytes) -> c_void_p:
        made = c_void_p()
        self("CommInitRank", byref(made), size, UniqueId.from_buffer_copy(unique_id), rank)
        return made


def _argument(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        return c_void_p(value.data_ptr())
    return c_void_p(value.musa_stream) if isinstance(value, torch.Stream) else value


def _count(tensor: torch.Tensor) -> c_size_t:
    return c_size_t(tensor.numel())


def _stream() -> Any:
    return torch.musa.current_stream()


def numbers(rank: int, dtype: torch.dtype, count: int = 1000) -> torch.Tensor:
    """The same ones wherever they are asked for, small enough for products of every type."""
    made = torch.randint(1, 5, (count,), generator=torch.Generator().manual_seed(rank))
    return made.to(dtype)


@pytest.fixture(scope="module")
def ranks() -> Iterator[Ranks]:
    made = Ranks(SIZE)
    yield made
    made.stop()


@pytest.fixture
def unique_id(torch_musa: Any) -> bytes:
    return Library().unique_id()


def _reduced(rank: int, size: int, unique_id: bytes) -> list[str]:
    mccl = Library()
    comm = mccl.communicator(rank, size, unique_id)
    wrong = []
    for dtype, number in TYPES.items():
        inputs = torch.stack([numbers(each, dtype) for each in range(size)])
        average = inputs.to(torch.float64).sum(0).div(size)
        for operation in range(5):
            wanted = OPERATIONS[operation](inputs) if operation != AVERAGE else average.to(dtype)
            source = inputs[rank].musa()
            out = torch.empty_like(source)
            mccl("AllReduce", source, out, _count(source), number, operation, comm, _stream())
            at_root = torch.full_like(source, 77)
            mccl("Reduce", source, at_root, _count(source), number, operation, 1, comm, _stream())
            mccl("AllReduce", source, source, _count(source), number, operation, comm, _stream())  # in place
            wanted_at_root = wanted if rank == 1 else torch.full_like(wanted, 77)
            if not (out.cpu().equal(wanted) and source.cpu().equal(wanted) and at_root.cpu().equal(wanted_at_root)):
                wrong.append(f"{dtype} {operation}: {out[:4].tolist()} and not {wanted[:4].tolist()}")
    mccl("CommDestroy", comm)
    return wrong


def _multiplied(rank: int, size: int, unique_id: bytes) -> list[str]:
    """Each rank has a factor of its own; the handles of ranks differ as well."""
    mccl = Library()
    comm = mccl.communicator(rank, size, unique_id)
    wrong = []
    for dtype, number in TYPES.items():
        inputs = torch.stack([numbers(each, dtype, 999) for each in range(size)])
        factors = torch.tensor([[each + 2] for each in range(size)]).to(dtype)
        wanted = inputs.mul(factors).sum(0, dtype=dtype)
        source, out = inputs[rank].musa(), torch.empty(999, dtype=dtype).musa()
        for on_device in (0, 1):
            kept, op = factors[rank].clone(), c_int()
            scalar = kept.musa() if on_device == 0 else kept
            for _ in range(rank + 1):
                mccl("RedOpCreatePreMulSum", byref(op), scalar, number, on_device, comm)
            kept.zero_()
            mccl("AllReduce", source, out, _count(source), number, op, comm, _stream())
            part = torch.zeros(999 // size, dtype=dtype).musa()
            mccl("ReduceScatter", source, part, c_size_t(999 // size), number, op, comm, _stream())
            mccl("RedOpDestroy", op, comm)
            if not (out.cpu().equal(wanted) and part.cpu().equal(wanted.chunk(size)[rank])):
                wrong.append(f"{dtype} {on_device}: {out[:4].tolist()} and not {wanted[:4].tolist()}")
        mccl("AllReduce", source, out, _count(source), number, op, comm, _stream(), expected=INVALID_ARGUMENT)
        mccl("RedOpDestroy", op, comm, expected=INVALID_ARGUMENT)
        other = 7 if number != 7 else 8
        mccl("RedOpCreatePreMulSum", byref(op), factors[rank], number, 1, comm)
        mccl("AllReduce", source, out, c_size_t(1), other, op, comm, _stream(), expected=INVALID_ARGUMENT)
    mccl("CommDestroy", comm)
    return wrong


@pytest.mark.full
def test_sums_of_numbers_that_each_rank_multiplies_before(ranks: Ranks, unique_id: bytes) -> None:
    assert ranks.run(_multiplied, unique_id) == [[]] * SIZE


def test_reductions(ranks: Ranks, unique_id: bytes) -> None:
    assert ranks.run(_reduced, unique_id) == [[]] * SIZE


def _moved(rank: int, size: int, unique_id: bytes) -> list[Any]:
    mccl = Library()
    comm = mccl.communicator(rank, size, unique_id)
    own = numbers(rank, torch.float32, 300_000).musa()  # more than a socket holds
    all_of_them = torch.empty(size * len(own), device="musa")
    mccl("AllGather", own, all_of_them, _count(own), TYPES[torch.float32], comm, _stream())
    inputs = torch.stack([numbers(each, torch.float32, 300_000) for each in range(size)])
    shares = torch.empty(100_000, device="musa")
    mccl("ReduceScatter", own, shares, _count(shares), TYPES[torch.float32], SUM, comm, _stream())
    given = torch.empty_like(own)
    mccl("Broadcast", own, given, _count(own), TYPES[torch.float32], 2, comm, _stream())
    following, preceding = (rank + 1) % size, (rank - 1) % size
    received = torch.empty_like(own)
    mccl("GroupStart")
    mccl("Send", own, _count(own), TYPES[torch.float32], following, comm, _stream())
    mccl("Recv", received, _count(own), TYPES[torch.float32], preceding, comm, _stream())
    mccl("GroupEnd")
    found = c_int(), c_int(), c_int()
    for name, place in zip(("Count", "UserRank", "CuDevice"), found):
        mccl(f"Comm{name}", comm, byref(place))
    mccl("CommDestroy", comm)
    mccl("CommCount", comm, byref(found[0]), expected=INVALID_ARGUMENT)
    return [
        all_of_them.cpu().equal(inputs.flatten()),
        shares.cpu().equal(inputs.sum(0).view(size, -1)[rank]),
        given.cpu().equal(inputs[2]),
        received.cpu().equal(inputs[preceding]),
        [each.value for each in found],
    ]


def test_moves(ranks: Ranks, unique_id: bytes) -> None:
    for rank, answer in enumerate(ranks.run(_moved, unique_id)):
        assert answer == [True] * 4 + [[SIZE, rank, rank % 2]]


def _in_groups(rank: int, size: int, unique_id: bytes) -> list[bool]:
    """As pynccl gathers tensors of different sizes: a broadcast from each rank, in one group and in different streams."""
    mccl = Library()
    comm = mccl.communicator(rank, size, unique_id)
    sizes = [5, 0, 70_000]
    wanted = [numbers(each, torch.int64, sizes[each]) for each in range(size)]
    places = [torch.zeros(each, dtype=torch.int64, device="musa") for each in sizes]
    places[rank].copy_(wanted[rank])
    mccl("GroupStart")
    mccl("GroupStart")
    for root, place in enumerate(places):
        stream = torch.musa.Stream()
        mccl("Broadcast", place, place, _count(place), TYPES[torch.int64], root, comm, stream)
    mccl("GroupEnd")
    mccl("GroupEnd")
    crossed = [torch.zeros(4, device="musa") for _ in range(size)]
    mccl("GroupStart")
    for peer in reversed(range(size)):  # to itself as well
        mccl("Recv", crossed[peer], 4, TYPES[torch.float32], peer, comm, _stream())
    for peer in range(size):
        sent = torch.full((4,), 10.0 * rank + peer, device="musa")
        mccl("Send", sent, 4, TYPES[torch.float32], peer, comm, _stream())
        crossed.append(sent)  # alive until the group ends
    mccl("GroupEnd")
    mccl("CommDestroy", comm)
    return [
        all(place.cpu().equal(want) for place, want in zip(places, wanted)),
        [each[0].item() for each in crossed[:size]] == [10.0 * peer + rank for peer in range(size)],
    ]


def test_groups(ranks: Ranks, unique_id: bytes) -> None:
    assert ranks.run(_in_groups, unique_id) == [[True, True]] * SIZE


def _captured(rank: int, size: int, unique_id: bytes) -> list[float]:
    """Between operations of PyTorch in one graph, on a tensor of the capture's own."""
    mccl = Library()
    comm = mccl.communicator(rank, size, unique_id)
    x = torch.zeros(64, device="musa")
    graph = torch.musa.MUSAGraph()
    with torch.musa.graph(graph):
        between = x * 2
        mccl("AllReduce", between, between, _count(x), TYPES[torch.float32], SUM, comm, _stream())
        out = between + 1
        del between
    results = []
    for step in range(3):
        x.fill_(rank + 10 * step)
        graph.replay()
        results.append(out[5].item())
    return results


def test_in_a_graph(ranks: Ranks, unique_id: bytes) -> None:
    """The communicator lives as long as the graph."""
    assert ranks.run(_captured, unique_id) == [[7.0, 67.0, 127.0]] * SIZE


def _kernels(rank: int, size: int, unique_id: bytes) -> list[tuple[str, str]]:
    """The kernels of a profile in their order, and the stream of each."""
    from torch.profiler import ProfilerActivity, profile

    mccl = Library()
    comm = mccl.communicator(rank, size, unique_id)
    side, own = torch.musa.Stream(), _stream()
    x, big = torch.ones(size, device="musa"), torch.ones(2**16, device="musa", dtype=torch.bfloat16)
    out, factor, scaled = torch.empty(size * size, device="musa"), torch.ones(1), c_int()
    mccl("RedOpCreatePreMulSum", byref(scaled), factor, 7, 1, comm)
    torch.musa.synchronize()
    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.PrivateUse1]) as prof:
        mccl("AllReduce", x, x, _count(x), 7, SUM, comm, own)
        mccl("AllReduce", big, big, _count(big), 9, AVERAGE, comm, side)
        mccl("AllReduce", x, x, _count(x), 3, AVERAGE, comm, own)
        mccl("AllReduce", x, x, _count(x), 7, scaled, comm, own)
        mccl("AllGather", x, out, _count(x), 7, comm, side)
        mccl("ReduceScatter", out, x, c_size_t(1), 7, MAXIMUM, comm, own)
        mccl("Reduce", x, x, _count(x), 7, PRODUCT, 0, comm, own)
        mccl("Broadcast", x, x, _count(x), 7, 0, comm, own)
        mccl("GroupStart")  # the messages of a group are one kernel
        mccl("Send", x, _count(x), 7, (rank + 1) % size, comm, side)
        mccl("Recv", out, _count(x), 7, (rank - 1) % size, comm, side)
        mccl("GroupEnd")
        torch.musa.synchronize()
    mccl("CommDestroy", comm)
    return _rows(prof, {own.stream_id: "own", side.stream_id: "side"})


def _rows(prof: Any, streams: dict[int, str]) -> list[tuple[str, str]]:
    events = [each for each in prof.profiler.kineto_results.events() if each.name().startswith("mcclKernel")]
    events.sort(key=lambda each: each.start_ns())
    return [(each.name(), streams[each.device_resource_id()]) for each in events]


def test_each_call_is_a_kernel_in_a_profile(ranks: Ranks, unique_id: bytes) -> None:
    named = [
        ("AllReduce_RING_LL_Sum_float", "own"),
        ("AllReduce_RING_SIMPLE_PreMulSum___mt_bfloat16", "side"),
        ("AllReduce_RING_LL_SumPostDiv_uint32_t", "own"),
        ("AllReduce_RING_LL_PreMulSum_float", "own"),
        ("AllGather_RING_LL_Sum_int8_t", "side"),
        ("ReduceScatter_RING_LL_Max_float", "own"),
        ("Reduce_RING_LL_Prod_float", "own"),
        ("Broadcast_RING_LL_Sum_int8_t", "own"),
        ("SendRecv_RING_LL_Sum_int8_t", "side"),
    ]
    wanted = [(f"mcclKernel_{name}(mcclWorkElem)", stream) for name, stream in named]
    assert ranks.run(_kernels, unique_id) == [wanted] * SIZE


def _kernels_of_a_graph(rank: int, size: int, unique_id: bytes) -> list[tuple[str, str]]:
    """Of a launch on another stream than the one that was captured."""
    from torch.profiler import ProfilerActivity, profile

    mccl = Library()
    comm, x = mccl.communicator(rank, size, unique_id), torch.ones(4, device="musa")
    graph, launching = torch.musa.MUSAGraph(), torch.musa.Stream()
    with torch.musa.graph(graph):
        mccl("AllReduce", x, x, _count(x), 7, SUM, comm, _stream())
    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.PrivateUse1]) as prof:
        with torch.musa.stream(launching):
            graph.replay()
            graph.replay()
        torch.musa.synchronize()
    return _rows(prof, {launching.stream_id: "launching"})


def test_a_graph_that_is_launched_has_the_kernels_of_its_calls(ranks: Ranks, unique_id: bytes) -> None:
    wanted = [("mcclKernel_AllReduce_RING_LL_Sum_float(mcclWorkElem)", "launching")] * 2
    assert ranks.run(_kernels_of_a_graph, unique_id) == [wanted] * SIZE


def _of_one_process() -> list[tuple[str, int]]:
    from torch.profiler import ProfilerActivity, profile

    mccl = Library()
    comms, alone = (c_void_p * 2)(), mccl.communicator(0, 1, mccl.unique_id())
    mccl("CommInitAll", comms, 2, None)
    tensors = [torch.ones(8, device=f"musa:{device}") for device in range(2)]
    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.PrivateUse1]) as prof:
        mccl("GroupStart")
        for device, tensor in enumerate(tensors):
            with torch.musa.device(device):
                mccl("AllReduce", tensor, tensor, _count(tensor), 7, SUM, c_void_p(comms[device]), _stream())
        mccl("GroupEnd")
        mccl("AllReduce", tensors[0], tensors[0], 8, 7, SUM, alone, torch.musa.current_stream(0))
    assert [tensor.tolist() for tensor in tensors] == [[2.0] * 8] * 2
    events = prof.profiler.kineto_results.events()  # type: ignore[union-attr]
    return sorted((each.name(), each.device_index()) for each in events if each.name().startswith("mcclKernel"))


def test_devices_of_one_process_have_a_kernel_each_and_a_rank_that_is_alone_none(torch_musa: Any) -> None:
    assert _of_one_process() == [
        ("mcclKernel_AllReduce_RING_LL_Sum_float(mcclWorkElem)", device) for device in range(2)
    ]


def _different_calls(rank: int, size: int, unique_id: bytes) -> tuple[int, int, str]:
    mccl = Library()
    comm = mccl.communicator(rank, size, unique_id)
    x = torch.ones(8 + (rank == 1), device="musa")
    result = mccl.library.mcclAllReduce(_argument(x), _argument(x), _count(x), 7, SUM, comm, _argument(_stream()))
    state = c_int()
    mccl("CommGetAsyncError", comm, byref(state))
    again = mccl.library.mcclAllReduce(_argument(x), _argument(x), _count(x), 7, SUM, comm, _argument(_stream()))
    assert again == state.value == result
    mccl("CommAbort", comm)
    return result, state.value, mccl.library.mcclGetLastError(None).decode()


def test_ranks_that_call_differently(ranks: Ranks, unique_id: bytes) -> None:
    """A device would compute nonsense or wait for ever. Here the first rank tells, and no rank waits."""
    answers = ranks.run(_different_calls, unique_id)
    assert answers[0][0] == INVALID_USAGE and "AllReduce of 9 numbers" in answers[0][2]
    assert {answer[0] for answer in answers[1:]} <= {INVALID_USAGE, REMOTE_ERROR}


def _wrong_arguments(rank: int, size: int, unique_id: bytes) -> None:
    mccl = Library()
    comm = mccl.communicator(rank, size, unique_id)
    x, elsewhere = torch.ones(8, device="musa"), torch.ones(8, device=f"musa:{(rank + 1) % 2}")
    wrong = {"expected": INVALID_ARGUMENT}
    mccl("AllReduce", x, x, 8, 99, SUM, comm, _stream(), **wrong)  # no such type
    mccl("AllReduce", x, x, 8, 10, SUM, comm, _stream(), **wrong)  # eight bits with a point
    mccl("AllReduce", x, x, 8, 7, 5, comm, _stream(), **wrong)  # no such operation
    mccl("AllReduce", x.cpu(), x, 8, 7, SUM, comm, _stream(), **wrong)
    mccl("AllReduce", x, elsewhere, 8, 7, SUM, comm, _stream(), **wrong)
    mccl("AllGather", x, x, c_size_t(1 << 40), 7, comm, _stream(), **wrong)  # far beyond the memory
    mccl("Broadcast", x, x, 8, 7, size, comm, _stream(), **wrong)
    mccl("Send", x, 8, 7, -1, comm, _stream(), **wrong)
    mccl("AllReduce", x, x, 8, 7, SUM, c_void_p(1), _stream(), **wrong)
    mccl("GroupStart")
    mccl("Send", x, 8, 7, size, comm, _stream(), **wrong)
    mccl("GroupEnd", **wrong)
    mccl("GroupEnd", expected=INVALID_USAGE)
    mccl("CommInitRank", byref(c_void_p()), size, UniqueId(), rank, **wrong)
    mccl("CommInitRank", byref(c_void_p()), size, UniqueId.from_buffer_copy(unique_id), size, **wrong)
    mccl("AllReduce", x, x, 8, 7, SUM, comm, _stream())  # none of it has done harm
    assert x.tolist() == [size] * 8
    mccl("CommDestroy", comm)


def test_wrong_arguments(ranks: Ranks, unique_id: bytes) -> None:
    ranks.run(_wrong_arguments, unique_id)


def test_devices_of_one_process(torch_musa: Any) -> None:
    """A communicator for each device, one thread, and so calls in groups."""
    mccl = Library()
    comms = (c_void_p * 2)()
    mccl("CommInitAll", comms, 2, (c_int * 2)(1, 0))
    tensors = [torch.full((1000,), 3.0 + rank, device=f"musa:{1 - rank}") for rank in range(2)]
    mccl("GroupStart")
    for rank, tensor in enumerate(tensors):
        with torch.musa.device(1 - rank):
            mccl("AllReduce", tensor, tensor, _count(tensor), 7, SUM, c_void_p(comms[rank]), _stream())
    mccl("GroupEnd")
    assert [tensor.unique().tolist() for tensor in tensors] == [[7.0], [7.0]]
    for comm in comms:
        mccl("CommDestroy", c_void_p(comm))


def test_a_rank_that_ends(torch_musa: Any, unique_id: bytes) -> None:
    mccl = Library()
    other = threading.Thread(target=lambda: Library().communicator(1, 2, unique_id))
    other.start()
    comm = mccl.communicator(0, 2, unique_id)
    other.join()
    x = torch.ones(4, device="musa")
    waiting = threading.Timer(0.2, lambda: mccl("CommAbort", comm))
    waiting.start()
    result = mccl.library.mcclAllReduce(_argument(x), _argument(x), 4, 7, SUM, comm, _argument(_stream()))
    waiting.join()
    assert result != OK and x.tolist() == [1] * 4


def test_windows_and_memory(torch_musa: Any, unique_id: bytes) -> None:
    mccl = Library()
    comm, memory, window = mccl.communicator(0, 1, unique_id), c_void_p(), c_void_p()
    mccl("MemAlloc", byref(memory), c_size_t(4096))
    mccl("CommWindowRegister", comm, memory, c_size_t(4096), byref(window), 1)
    assert window.value
    mccl("AllReduce", memory, memory, c_size_t(1024), 7, SUM, comm, _stream())
    mccl("CommWindowDeregister", comm, window)
    mccl("MemFree", memory)
    mccl("CommDestroy", comm)


def test_version(torch_musa: Any) -> None:
    version = c_int()
    Library()("GetVersion", byref(version))
    assert version.value == 22809


def _in_a_fork(connection: Any) -> None:
    mccl, device = Library(), c_void_p()
    connection.send(mccl.library.mcclCommInitRank(byref(device), 1, UniqueId.from_buffer_copy(mccl.unique_id()), 0))


@pytest.mark.full
def test_no_communicator_in_a_forked_child(torch_musa: Any) -> None:
    torch.ones(1, device="musa")
    here, there = mp.Pipe()
    child = mp.get_context("fork").Process(target=_in_a_fork, args=(there,))
    child.start()
    assert here.poll(60) and here.recv() == 1  # the runtime's error
    child.join()
