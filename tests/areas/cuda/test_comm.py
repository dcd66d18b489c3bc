"""torch.cuda.comm: copies between devices, with CUDA's results and checks."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch.cuda import comm


def on(*devices: int) -> list[torch.device]:
    return [torch.device("cuda", index) for index in devices]


def test_broadcast() -> None:
    x = torch.arange(3.0, device="cuda:0")
    here, there = comm.broadcast(x, devices=["cuda:0", 1])
    assert here is x
    assert there.device == torch.device("cuda:1") and there.tolist() == [0, 1, 2]
    assert [copy.device for copy in comm.broadcast(torch.ones(2), (0, torch.device("cuda:1")))] == on(0, 1)


def test_broadcast_out() -> None:
    outs = [torch.empty(3, device=device) for device in on(0, 1)]
    returned = comm.broadcast(torch.arange(3.0), out=outs)
    assert [out.tolist() for out in outs] == [[0, 1, 2]] * 2
    assert all(a is b for a, b in zip(returned, outs))
    with pytest.raises(RuntimeError, match="index 1 has shape"):
        comm.broadcast(torch.ones(2), out=[torch.empty(2, device="cuda"), torch.empty(3, device="cuda:1")])
    with pytest.raises(RuntimeError, match=r"to be (CUDA|MUSA) tensors.*index 0 has device 'cpu'"):
        comm.broadcast(torch.ones(2), out=[torch.empty(2)])
    with pytest.raises(RuntimeError, match="Exactly one of"):
        comm.broadcast(torch.ones(2))


@pytest.mark.parametrize("buffer_size", [1, 24, 10485760])
def test_broadcast_coalesced(buffer_size: int) -> None:
    shapes = [
        ((2, 3), torch.float32),
        ((), torch.int64),
        ((4,), torch.float32),
        ((0,), torch.float32),
        ((2,), torch.int64),
    ]
    tensors = [torch.randint(9, shape, dtype=dtype, device="cuda") for shape, dtype in shapes]
    first, second = comm.broadcast_coalesced(tensors, [0, 1], buffer_size=buffer_size)
    assert all(a is b for a, b in zip(first, tensors))
    assert {copy.device.index for copy in second} == {1}
    assert [copy.tolist() for copy in second] == [tensor.tolist() for tensor in tensors]


def test_tensors_broadcast_together_are_changed_alone() -> None:
    _, (a, b) = comm.broadcast_coalesced([torch.zeros(2, device="cuda"), torch.zeros(2, device="cuda")], [0, 1])
    before = b._version
    a.add_(1)
    assert b._version == before and b.tolist() == [0, 0]


def test_reduce_add() -> None:
    parts = [torch.full((2,), 1.0, device="cuda:0"), torch.full((2,), 5.0, device="cuda:1")]
    for destination in (0, 1):
        total = comm.reduce_add(parts, destination)
        assert total.tolist() == [6, 6] and total.device.index == destination
    assert [part.tolist() for part in parts] == [[1, 1], [5, 5]]
    assert comm.reduce_add([parts[1].t(), parts[1]], 1).tolist() == [10, 10]  # two on one device
    with pytest.raises(ValueError, match="invalid size"):
        comm.reduce_add([parts[0], torch.zeros(3, device="cuda:1")], 0)
    with pytest.raises(RuntimeError, match="destination"):
        comm.reduce_add([parts[1]], 0)
    with pytest.raises(AssertionError, match="GPUs"):
        comm.reduce_add([torch.zeros(2)], 0)


def test_reduce_add_coalesced() -> None:
    def part(device: torch.device, value: float) -> list[torch.Tensor]:
        return [
            torch.full((3,), value, device=device),
            torch.eye(2, device=device).to_sparse(),
            torch.ones(2, 2, device=device),
        ]

    first, sparse, last = comm.reduce_add_coalesced([part(device, 2.0) for device in on(0, 1)], destination=0)
    assert first.tolist() == [4, 4, 4] and last.tolist() == [[2, 2], [2, 2]]
    assert sparse.is_sparse and sparse.to_dense().tolist() == [[2, 0], [0, 2]]
    assert {t.device.index for t in (first, sparse, last)} == {0}


def test_scatter() -> None:
    x = torch.arange(10.0).view(5, 2)
    pieces = comm.scatter(x, devices=[0, "cuda:1"])
    assert isinstance(pieces, tuple)
    assert [piece.device for piece in pieces] == on(0, 1)
    assert [len(piece) for piece in pieces] == [3, 2] and torch.equal(torch.cat([p.cpu() for p in pieces]), x)
    assert [len(piece) for piece in comm.scatter(x.cuda(), [1, 0], chunk_sizes=[1, 4])] == [1, 4]
    assert [piece.shape for piece in comm.scatter(x, [0, 1], dim=-1)] == [(5, 1), (5, 1)]
    assert len(comm.scatter(x[:1], [0, 1])) == 1


def test_scatter_runs_on_the_streams_it_is_given() -> None:
    streams = [torch.cuda.Stream(index) for index in (0, 1)]
    pieces = comm.scatter(torch.arange(4.0), [0, 1], streams=streams)
    assert [piece.tolist() for piece in pieces] == [[0, 1], [2, 3]]
    out = [torch.zeros(2, device=device) for device in on(0, 1)]
    comm.scatter(torch.arange(4.0), out=out, streams=[None, streams[1]])
    assert [piece.tolist() for piece in out] == [[0, 1], [2, 3]]
    with pytest.raises(RuntimeError, match="stream at index 0"):
        comm.scatter(torch.arange(4.0), out=out, streams=streams[::-1])


def test_scatter_out() -> None:
    x = torch.arange(8.0).view(2, 4)
    out = [torch.empty(2, size, device=device) for size, device in zip((1, 3), on(0, 1))]
    returned = comm.scatter(x, out=out, dim=1)
    assert isinstance(returned, tuple) and returned[1] is out[1]
    assert out[0].tolist() == [[0], [4]] and out[1].tolist() == [[1, 2, 3], [5, 6, 7]]
    with pytest.raises(RuntimeError, match="Total size"):
        comm.scatter(x, out=[out[1]], dim=1)
    with pytest.raises(RuntimeError, match="incorrect number of dimensions"):
        comm.scatter(x, out=[torch.empty(2, device="cuda")], dim=1)
    with pytest.raises(RuntimeError, match="'devices' must not be specified"):
        comm.scatter(x, [0], out=out)
    with pytest.raises(RuntimeError, match="'chunk_sizes' must not be specified"):
        comm.scatter(x, out=out, chunk_sizes=[1, 3])


@pytest.mark.parametrize(
    ("destination", "device"),
    [(None, "cuda:0"), (1, "cuda:1"), ("cuda:1", "cuda:1"), ("cpu", "cpu"), (torch.device("cpu"), "cpu")],
)
def test_gather(destination: Any, device: str) -> None:
    parts = [torch.full((rows, 2), float(rows), device=at) for rows, at in zip((1, 2), on(0, 1))]
    whole = comm.gather(parts, destination=destination)
    assert whole.device == torch.device(device)
    assert whole.tolist() == [[1, 1], [2, 2], [2, 2]]


def test_gather_of_old_spelled_the_cpu_as_minus_one() -> None:
    with pytest.warns(FutureWarning, match="-1 to represent CPU"):
        assert comm.gather([torch.ones(1, device="cuda")], destination=-1).device.type == "cpu"


@pytest.mark.parametrize("device", ["cpu", "cuda:1"])
def test_gather_out(device: str) -> None:
    parts = [torch.full((2, columns), float(columns), device=at) for columns, at in zip((1, 2), on(0, 1))]
    out = torch.empty(2, 3, device=device)
    assert comm.gather(parts, dim=-1, out=out) is out
    assert out.tolist() == [[1, 2, 2]] * 2
    with pytest.raises(RuntimeError, match=r"Expected out tensor to have shape \[2, 3\], but got \[3, 2\]"):
        comm.gather(parts, dim=1, out=torch.empty(3, 2, device=device))
    with pytest.raises(RuntimeError, match="invalid shape"):
        comm.gather(parts, dim=0, out=out)
    with pytest.raises(RuntimeError, match="index 1 has device 'cpu'"):
        comm.gather([parts[0], parts[0].cpu()], out=out)
    with pytest.raises(RuntimeError, match="'destination' must not be specified"):
        comm.gather(parts, dim=1, destination=0, out=out)


def test_complex_tensors() -> None:
    x = torch.tensor([1 + 2j, 3 - 1j], device="cuda")
    _, there = comm.broadcast(x, [0, 1])
    assert torch.equal(torch.view_as_complex(there).cpu(), x.cpu())


def test_capability_comm_broadcast_scatter_gather() -> None:
    """A round trip: what is scattered and gathered is what it was."""
    x = torch.randn(7, 3, device="cuda:1")
    assert torch.equal(comm.gather(comm.scatter(x, [0, 1]), destination=1), x)


# torch 2.11 says once that it checks no sparse tensors, also to who has asked for that.
@pytest.mark.filterwarnings("ignore:Sparse invariant checks are implicitly disabled:UserWarning")
@pytest.mark.parametrize("buffer_size", [1, 10485760])
def test_the_copies_that_stock_torch_is_given(buffer_size: int) -> None:
    """On the vendor's torch the public function goes to the vendor's own; this one serves where there is none."""
    sparse = torch.eye(3, device="cuda").to_sparse()
    tensors = [torch.ones(2, device="cuda"), sparse, torch.arange(3, device="cuda"), torch.zeros(1, 2, device="cuda")]
    first, second = torch._C._broadcast_coalesced(tensors, [0, 1], buffer_size)  # type: ignore[attr-defined]
    assert all(a is b for a, b in zip(first, tensors))
    assert [copy.to_dense().tolist() for copy in second] == [tensor.to_dense().tolist() for tensor in tensors]
    assert second[1].is_sparse and {copy.device.index for copy in second} == {1}
    with pytest.raises(RuntimeError, match=r"All tensors must be on devices\[0\]: 1"):
        torch._C._broadcast_coalesced([torch.zeros(2, device="cuda:0")], [1, 0], 1)  # type: ignore[attr-defined]
