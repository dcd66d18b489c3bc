"""torch.accelerator, the device-independent names of torch.cuda."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import pytest
import torch

from support.interpreter import Interpreter

accelerator: Any = torch.accelerator
MEMORY = pytest.mark.skipif(
    not hasattr(accelerator, "memory_allocated"), reason="torch.accelerator has no memory functions in this torch"
)
DEVICES: list[Any] = [None, 0, 1, "cuda", "cuda:1", torch.device("cuda", 1)]


def index_of(device: Any) -> int:
    return device if isinstance(device, int) else torch.device(device or "cuda").index or 0


def test_which_it_is() -> None:
    assert accelerator.is_available() and accelerator.device_count() == torch.cuda.device_count()
    assert accelerator.current_accelerator() == torch.device("cuda")
    assert accelerator.current_accelerator().type == torch.device("cuda").type == torch.ones(1).cuda().device.type


def test_current_device() -> None:
    for device in (1, "cuda:0", torch.device("cuda:1")):
        accelerator.set_device_index(device)
        assert accelerator.current_device_index() == torch.cuda.current_device() == index_of(device)
    with pytest.raises(ValueError, match="specified index"):
        accelerator.set_device_index("cuda")
    with pytest.raises(ValueError, match=r"cpu"):
        accelerator.set_device_index("cpu")


@pytest.mark.skipif(not hasattr(accelerator, "device_index"), reason="this torch has no torch.accelerator.device_index")
def test_device_index() -> None:
    with accelerator.device_index(1):
        assert torch.cuda.current_device() == 1 and torch.ones(1, device="cuda").device.index == 1
        with accelerator.device_index(None):
            assert torch.cuda.current_device() == 1
    assert torch.cuda.current_device() == 0


@pytest.mark.filterwarnings("ignore:Use `:FutureWarning")
def test_older_names() -> None:
    accelerator.set_device_idx(1)
    assert accelerator.current_device_idx() == 1


def test_streams() -> None:
    stream = torch.cuda.Stream(1)
    accelerator.set_stream(stream)
    assert torch.cuda.current_device() == 1 and torch.cuda.current_stream() == stream
    for device in (None, 1, "cuda", "cuda:1"):
        assert accelerator.current_stream(device).stream_id == stream.stream_id
    assert accelerator.current_stream("cuda:0").stream_id != stream.stream_id


def work_for(device: Any) -> Any:
    """An event that lies behind a while of work on the device."""
    with torch.cuda.device(device), torch.cuda.stream(torch.cuda.Stream()):
        torch.cuda._sleep(30_000_000)
        event = torch.cuda.Event()
        event.record()
    return event


@pytest.mark.parametrize("device", DEVICES)
def test_synchronize(device: Any) -> None:
    event = work_for(index_of(device))
    assert not event.query()
    accelerator.synchronize(device)
    assert event.query()


def test_synchronize_waits_for_the_device_named_and_no_other() -> None:
    event = work_for(1)
    accelerator.synchronize(0)
    assert not event.query()
    accelerator.synchronize("cuda:1")
    assert event.query()


def test_synchronize_imported_before(musa: Interpreter) -> None:
    musa.run(
        """
        import torchada, torch
        torchada.disable()
        from torch.accelerator import synchronize
        torchada.enable()
        x = torch.ones(2, device="cuda")
        synchronize()
        torchada.disable()
        try:
            synchronize()
        except RuntimeError as error:
            assert "synchroniz" in str(error)
        else:
            assert not hasattr(torch.musa, "__simulated__"), "the guard of torch_musa cannot wait for a device"
        """,
        forked=True,
        env={"MUSASIM_RELEASE": "2.7.1"},  # from 2.11.0 on, the guard waits for a device
    )


@MEMORY
@pytest.mark.parametrize("device", DEVICES)
def test_memory(device: Any) -> None:
    index = index_of(device)
    before = accelerator.memory_allocated(device)
    x = torch.empty(1 << 20, device=f"cuda:{index}")
    assert accelerator.memory_allocated(device) == torch.cuda.memory_allocated(index) == before + x.nbytes
    assert accelerator.memory_reserved(device) == torch.cuda.memory_reserved(index) >= x.nbytes
    del x
    assert accelerator.max_memory_allocated(device) >= before + (4 << 20)
    accelerator.reset_peak_memory_stats(device)
    assert accelerator.max_memory_allocated(device) == accelerator.memory_allocated(device) == before
    assert accelerator.max_memory_reserved(device) == torch.cuda.max_memory_reserved(index)


@MEMORY
@pytest.mark.parametrize("device", DEVICES)
def test_memory_stats(device: Any) -> None:
    index = index_of(device)
    x = torch.empty(1 << 20, device=f"cuda:{index}")
    assert dict(accelerator.memory_stats(device)) == dict(torch.cuda.memory_stats(index))
    accelerator.reset_accumulated_memory_stats(device)
    assert accelerator.memory_stats(device)["allocated_bytes.all.allocated"] == 0
    del x
    assert accelerator.memory_stats(device)["allocated_bytes.all.freed"] == 4 << 20


@MEMORY
@pytest.mark.parametrize(
    ("name", "asked"),
    [
        ("memory_allocated", "memory_stats_as_nested_dict"),
        ("reset_peak_memory_stats", "reset_peak_memory_stats"),
        ("reset_accumulated_memory_stats", "reset_accumulated_memory_stats"),
        ("empty_cache", "empty_cache"),
    ],
)
def test_memory_is_the_backends_answer(monkeypatch: pytest.MonkeyPatch, name: str, asked: str) -> None:
    """The simulator's allocator is of torch's generic kind, which torch_musa's need not be: so watch who is asked."""
    torch.ones(1, device="cuda")
    calls, original = [], getattr(torch.musa, asked)  # type: ignore[attr-defined]
    monkeypatch.setattr(torch.musa, asked, lambda *args: (calls.append(args), original(*args))[1])  # type: ignore[attr-defined]
    getattr(accelerator, name)()
    assert len(calls) == 1


@MEMORY
def test_memory_of_a_fresh_process(musa: Interpreter) -> None:
    musa.run(
        """
        import torch
        assert torch.accelerator.memory_stats() == {} and torch.accelerator.memory_allocated() == 0
        torch.accelerator.empty_cache()
        assert not torch.cuda.is_initialized()
        """,
        forked=True,
    )


@MEMORY
def test_empty_cache() -> None:
    x = torch.empty(32 << 20, device="cuda")
    del x
    before = torch.cuda.memory_reserved()
    accelerator.empty_cache()
    assert torch.cuda.memory_reserved() <= before - (128 << 20)
    if hasattr(accelerator, "empty_host_cache"):
        accelerator.empty_host_cache()


@pytest.mark.skipif(not hasattr(accelerator, "get_memory_info"), reason="this torch has no get_memory_info")
@pytest.mark.parametrize("device", DEVICES)
def test_get_memory_info(device: Any) -> None:
    assert accelerator.get_memory_info(device) == torch.cuda.mem_get_info(index_of(device))


@pytest.mark.skipif(not hasattr(accelerator, "Graph"), reason="this torch has no torch.accelerator.Graph")
def test_graph() -> None:
    x, graph = torch.ones(2, device="cuda"), None
    with torch.cuda.stream(torch.cuda.Stream()):
        graph = accelerator.Graph()
        with graph:
            y = x + 1
    x.fill_(4)
    graph.replay()
    assert y.tolist() == [5, 5]


@pytest.mark.skipif(not hasattr(accelerator, "get_device_capability"), reason="this torch has no get_device_capability")
def test_get_device_capability() -> None:
    assert torch.float32 in accelerator.get_device_capability("cuda:0")["supported_dtypes"]


def test_every_name_without_argument_answers() -> None:
    for name in accelerator.__all__:
        function: Callable[..., Any] = getattr(accelerator, name)
        required = [p for p in inspect.signature(function).parameters.values() if p.default is p.empty]
        if not inspect.isclass(function) and not required and not name.endswith("_idx"):
            function()
