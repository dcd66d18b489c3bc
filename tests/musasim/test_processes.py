"""The device in several processes."""

# ruff: noqa: E402

from __future__ import annotations

from multiprocessing.reduction import ForkingPickler

import pytest

import musasim

musasim.install()

import torch
import torch.multiprocessing as mp
import torch_musa
from torch import nn

from support.plain_torch import plain_torch  # noqa: F401

pytestmark = pytest.mark.once


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


@pytest.mark.full
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


def test_received_tensors_share_the_senders_memory() -> None:
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


def views(tensors: mp.SimpleQueue, answers: mp.SimpleQueue) -> None:
    whole, part, turned = tensors.get()
    part.fill_(9)
    same = whole.untyped_storage()._cdata == part.untyped_storage()._cdata == turned.untyped_storage()._cdata
    answers.put((same, whole.tolist(), turned.stride(), torch.musa.memory_allocated()))
    tensors.get()


def test_tensors_that_share_a_storage_still_share_it_in_the_receiver() -> None:
    spawn = mp.get_context("spawn")
    tensors, answers = spawn.SimpleQueue(), spawn.SimpleQueue()
    child = spawn.Process(target=views, args=(tensors, answers))
    child.start()
    whole = torch.zeros(2, 3, device="musa")
    tensors.put((whole, whole[0, 1:], whole.t()))
    # The memory stays the sender's, so the child has allocated nothing.
    assert answers.get() == (True, [[0, 9, 9], [0, 0, 0]], (1, 3), 0)
    assert whole.tolist() == [[0, 9, 9], [0, 0, 0]]
    tensors.put(None)
    child.join()
    assert child.exitcode == 0


def hold(tensors: mp.SimpleQueue, answers: mp.SimpleQueue) -> None:
    held = tensors.get()
    answers.put("held")
    tensors.get()
    answers.put(held.tolist())
    del held
    answers.put("put down")
    tensors.get()


def test_memory_that_a_receiver_holds_is_not_reused() -> None:
    spawn = mp.get_context("spawn")
    tensors, answers = spawn.SimpleQueue(), spawn.SimpleQueue()
    child = spawn.Process(target=hold, args=(tensors, answers))
    child.start()
    sent = torch.full((3,), 5.0, device="musa:1")
    address = sent.data_ptr()
    tensors.put(sent)
    assert answers.get() == "held"
    del sent
    others = [torch.zeros(3, device="musa:1") for _ in range(3)]
    assert address not in [other.data_ptr() for other in others]
    assert not torch.musa.ipc_collect()
    tensors.put(None)
    assert answers.get() == [5, 5, 5]
    assert answers.get() == "put down"
    assert torch.musa.ipc_collect()
    assert torch.zeros(3, device="musa:1").data_ptr() == address
    tensors.put(None)
    child.join()


def keep(tensors: mp.SimpleQueue, answers: mp.SimpleQueue) -> None:
    received = tensors.get()
    try:
        ForkingPickler.dumps(received)
    except RuntimeError as error:
        answers.put(str(error))


def test_a_received_tensor_cannot_be_sent_on() -> None:
    spawn = mp.get_context("spawn")
    tensors, answers = spawn.SimpleQueue(), spawn.SimpleQueue()
    child = spawn.Process(target=keep, args=(tensors, answers))
    child.start()
    tensors.put(sent := torch.ones(2, device="musa"))
    assert "received from another process" in answers.get()
    child.join()
    assert sent.tolist() == [1, 1]


def test_sending_keeps_the_memory() -> None:
    tensor = torch.arange(3, device="musa")
    address = tensor.data_ptr()
    for each in (tensor, tensor[1:], nn.Parameter(torch.ones(1, device="musa")), torch.empty(0, device="musa")):
        ForkingPickler.dumps(each)
    assert tensor.data_ptr() == address and tensor.tolist() == [0, 1, 2]


def test_invalid_handles_are_refused() -> None:
    storage = torch.ones(4, device="musa").untyped_storage()
    device, memory, size, offset, *rest = storage._share_musa_()
    assert (device, size, len(memory)) == (0, 16, 64)
    with pytest.raises(RuntimeError, match="invalid argument"):
        torch.UntypedStorage._new_shared_musa(device, b"x" * 64, size, offset, *rest)
    with pytest.raises(RuntimeError, match="invalid argument"):
        torch.UntypedStorage._new_shared_musa(device, memory, 1 << 40, offset, *rest)
    unknown = memory[:8] + (2**31 - 1).to_bytes(8, "little") + memory[16:]
    with pytest.raises(RuntimeError, match="invalid resource handle"):
        torch.UntypedStorage._new_shared_musa(device, unknown, size, offset, *rest)
    storage._release_ipc_counter_musa(*rest[:2])


def test_tensors_that_cannot_be_sent_raise() -> None:
    with pytest.raises(RuntimeError, match="non-leaf"):
        ForkingPickler.dumps(torch.ones(2, device="musa", requires_grad=True) * 2)
    with pytest.raises(RuntimeError, match="Cannot pickle CUDA storage"):
        ForkingPickler.dumps(torch.ones(4, device="musa").untyped_storage())


def wait_for(events: mp.SimpleQueue, answers: mp.SimpleQueue) -> None:
    event = events.get()
    answers.put((type(event) is torch.musa.Event, str(event.device), event.query()))
    events.get()
    answers.put(event.query())
    event.synchronize()
    answers.put(event.query())
    torch.musa.current_stream(1).wait_event(event)
    event.record(torch.musa.current_stream(1))
    torch.musa._sleep(1)
    answers.put("recorded")


@pytest.mark.slow
def test_an_event_is_the_same_in_both_processes() -> None:
    spawn = mp.get_context("spawn")
    events, answers = spawn.SimpleQueue(), spawn.SimpleQueue()
    child = spawn.Process(target=wait_for, args=(events, answers))
    child.start()
    event = torch.musa.Event(interprocess=True)
    with torch.musa.device(1):
        event.record()
    events.put(event)
    assert answers.get() == (True, "musa:1", True)
    with torch.musa.device(1):
        torch.musa._sleep(5_000_000_000)
        event.record()  # after it was sent
    events.put(None)
    assert answers.get() is False
    assert answers.get() is True and event.query()
    assert answers.get() == "recorded"
    child.join()
    assert child.exitcode == 0


def test_events_without_the_interprocess_flag_have_no_handle() -> None:
    assert ForkingPickler._extra_reducers[torch.musa.Event] is torch_musa.core.reductions.reduce_event
    event = torch.musa.Event()
    event.record()
    with pytest.raises(RuntimeError, match="invalid resource handle"):
        event.ipc_handle()
    with pytest.raises(RuntimeError, match="invalid argument"):
        torch_musa.core.reductions.rebuild_event(torch.device("musa:0"), b"handle")
    unrecorded = torch.musa.Event(interprocess=True)
    copy = torch.musa.Event.from_ipc_handle(torch.device("musa:0"), unrecorded.ipc_handle())
    assert copy.query() and unrecorded.query()
