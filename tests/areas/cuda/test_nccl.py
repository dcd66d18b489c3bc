"""torch.cuda.nccl: collectives of one process over two devices."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch.cuda import nccl

import torchada


def both(*values: float, **options: Any) -> list[torch.Tensor]:
    """`values` on device 0, and twice as much on device 1."""
    options.setdefault("dtype", torch.float32)
    return [torch.tensor(values, device=f"cuda:{index}", **options) * (index + 1) for index in (0, 1)]


def test_capability_nccl_version() -> None:
    """torch.cuda.nccl.version() is a tuple: the backend's own library's version."""
    version = torch.cuda.nccl.version()
    assert isinstance(version, tuple) and version == torch.musa.mccl.version()
    assert version >= (2, 0, 0)


def test_is_available_has_the_checks_of_cuda() -> None:
    a, b = both(1, 2)
    assert nccl.is_available([a, b])
    assert not nccl.is_available([a, a])  # one device twice
    assert not nccl.is_available([a, torch.zeros(2)])
    assert not nccl.is_available([torch.zeros(2, 3, device="cuda").t()])
    assert not nccl.is_available([torch.zeros(2, device="cuda").to_sparse()])


@pytest.mark.parametrize(("op", "expected"), [(nccl.SUM, [6, 12]), (1, [8, 32]), (2, [4, 8]), (3, [2, 4]), (4, [3, 6])])
def test_all_reduce(op: int, expected: list[float]) -> None:
    inputs = both(2, 4)
    outputs = [torch.empty_like(x) for x in inputs]
    nccl.all_reduce(inputs, outputs, op)
    assert [x.tolist() for x in outputs] == [expected] * 2
    assert [x.tolist() for x in inputs] == [[2, 4], [4, 8]]
    nccl.all_reduce(inputs, op=op)
    assert [x.tolist() for x in inputs] == [expected] * 2


def test_reduce() -> None:
    inputs = both(1, 2)
    output = torch.empty(2, device="cuda:1")
    nccl.reduce(inputs, output, root=1)
    assert output.tolist() == [3, 6] and inputs[1].tolist() == [2, 4]
    nccl.reduce(inputs)
    assert [x.tolist() for x in inputs] == [[3, 6], [2, 4]]
    with pytest.raises(RuntimeError, match="same device"):
        nccl.reduce(inputs, output, root=0)


def test_broadcast() -> None:
    tensors = both(1, 2)
    nccl.broadcast(tensors, root=1)
    assert [x.tolist() for x in tensors] == [[2, 4]] * 2
    streams = [torch.cuda.Stream(0), None]
    nccl.broadcast(tensors, 0, streams)


def test_all_gather() -> None:
    outputs = [torch.empty(2, 2, device=f"cuda:{index}") for index in (0, 1)]
    nccl.all_gather(both(1, 2), outputs)
    assert [x.tolist() for x in outputs] == [[[1, 2], [2, 4]]] * 2


def test_reduce_scatter() -> None:
    outputs = [torch.empty(2, device=f"cuda:{index}") for index in (0, 1)]
    nccl.reduce_scatter(both(1, 2, 3, 4), outputs)
    assert [x.tolist() for x in outputs] == [[3, 6], [9, 12]]


def test_leaves_that_require_a_gradient_are_written_to() -> None:
    tensors = [torch.zeros(1, device=f"cuda:{index}", requires_grad=True) for index in (0, 1)]
    nccl.all_reduce(tensors)
    assert all(x.is_leaf for x in tensors)


@pytest.mark.parametrize(
    ("inputs", "outputs", "message"),
    [
        ([], [], "can't be empty"),
        (both(1), both(1)[:1], "len"),
        (both(1, 2), both(1), "incorrect output size"),
        ([both(1)[0], torch.zeros(1)], None, "cuda dense"),
        ([both(1)[0], both(1)[0]], None, "unique devices"),
        (both(1), both(1, dtype=torch.float64), "same data type"),
        ([both(1)[0], both(1, 2)[1]], None, "same number of elements"),
        ([torch.zeros(2, 2, device=f"cuda:{i}").t() for i in (0, 1)], None, "contiguous"),
        (both(1), both(1)[::-1], "same device"),
    ],
)
def test_arguments_are_checked(inputs: Any, outputs: Any, message: str) -> None:
    with pytest.raises(RuntimeError, match=message):
        nccl.all_reduce(inputs, outputs)
    with pytest.raises(TypeError, match="collection of tensors"):
        nccl.all_reduce(torch.zeros(2))


def test_communicators_of_ones_own_are_for_process_groups() -> None:
    for call in (nccl.unique_id, lambda: nccl.init_rank(2, b"", 0)):
        with pytest.raises(NotImplementedError, match=r"no counterpart on MUSA.*torch\.distributed"):
            call()
    with pytest.raises(NotImplementedError, match="comms="):
        nccl.all_reduce(both(1), comms=[object(), object()])


def test_nothing_is_left_behind() -> None:
    with torchada.disabled():
        assert not hasattr(torch._C, "_nccl_unique_id") or torch.version.cuda
