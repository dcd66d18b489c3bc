"""The device and several processes."""

# ruff: noqa: E402

from __future__ import annotations

from multiprocessing.reduction import ForkingPickler

import pytest

import musasim

musasim.install()

import torch
import torch.multiprocessing as mp
import torch_musa
from plain_torch import plain_torch  # noqa: F401
from torch import nn


def train_a_little(rank: int, results: mp.SimpleQueue) -> None:
    import musasim

    musasim.install()
    import torch_musa  # noqa: F401

    torch.musa.set_device(rank)
    torch.manual_seed(rank)
    model = nn.Linear(3, 1).musa()
    loss = model(torch.ones(4, 3, device="musa")).sum()
    loss.backward()
    results.put((rank, str(model.weight.grad.device), model.weight.grad.cpu().tolist()))


def test_spawned_processes_have_their_own_device() -> None:
    torch.zeros(1, device="musa")
    results = mp.get_context("spawn").SimpleQueue()
    mp.spawn(train_a_little, args=(results,), nprocs=2)
    seen = sorted(results.get() for _ in range(2))
    assert seen == [(rank, f"musa:{rank}", [[4, 4, 4]]) for rank in range(2)]


def double(tensors: mp.SimpleQueue, module: nn.Module, answers: mp.SimpleQueue) -> None:
    tensor = tensors.get()
    tensor.mul_(2)
    with torch.no_grad():
        module.weight.fill_(7)
    answers.put((str(tensor.device), tensor.dtype, tensor.tolist(), str(module.weight.device)))
    answers.put(torch.arange(3, device="musa:0"))
    tensors.get()


def test_tensors_are_shared_and_not_copied() -> None:
    spawn = mp.get_context("spawn")
    tensors, answers = spawn.SimpleQueue(), spawn.SimpleQueue()
    module = nn.Linear(2, 1).musa()
    child = spawn.Process(target=double, args=(tensors, module, answers))
    child.start()
    whole = torch.arange(6.0, device="musa:1")
    part = whole[2:4].clone()
    tensors.put(part)
    assert answers.get() == ("musa:1", torch.float32, [4, 6], "musa:0")
    assert part.tolist() == [4, 6] and module.weight.tolist() == [[7, 7]]
    assert answers.get().tolist() == [0, 1, 2]
    tensors.put(None)
    child.join()
    assert child.exitcode == 0


def test_sending_again_keeps_the_memory() -> None:
    tensor = torch.arange(3, device="musa")
    ForkingPickler.dumps(tensor)
    address = tensor.data_ptr()
    assert tensor.tolist() == [0, 1, 2]
    ForkingPickler.dumps(tensor)
    view = tensor[1:]
    ForkingPickler.dumps(view)
    assert tensor.data_ptr() == address and view.data_ptr() == address + tensor.element_size()


def test_what_cannot_be_sent_says_so() -> None:
    whole = torch.ones(4, device="musa")
    with pytest.raises(RuntimeError, match="shares its memory with other tensors"):
        ForkingPickler.dumps(whole[1:])
    with pytest.raises(RuntimeError, match="non-leaf"):
        ForkingPickler.dumps(torch.ones(2, device="musa", requires_grad=True) * 2)
    with pytest.raises(RuntimeError, match="Cannot pickle CUDA storage"):
        ForkingPickler.dumps(whole.untyped_storage())


def test_events_are_sent_by_handle_which_the_simulator_has_not() -> None:
    event = torch.musa.Event(interprocess=True)
    event.record()
    assert ForkingPickler._extra_reducers[torch.musa.Event] is torch_musa.core.reductions.reduce_event
    with pytest.raises(NotImplementedError, match="events cannot be shared between processes"):
        ForkingPickler.dumps(event)
    with pytest.raises(NotImplementedError, match="events cannot be shared between processes"):
        torch_musa.core.reductions.rebuild_event(torch.device("musa:0"), b"handle")
