"""Streams and events under torch.cuda's names, with the attributes that CUDA code reads."""

from __future__ import annotations

import ctypes
import pickle
from typing import Any

import pytest
import torch

from support.interpreter import Interpreter


def test_row_stream_cuda_stream() -> None:
    stream = torch.cuda.Stream()
    assert isinstance(stream.cuda_stream, int) and stream.cuda_stream != 0
    assert torch.cuda.default_stream().cuda_stream == torch.cuda.current_stream().cuda_stream == 0
    with torch.cuda.stream(stream):
        assert torch.cuda.current_stream().cuda_stream == stream.cuda_stream
    assert stream.cuda_stream == stream.musa_stream
    assert stream._as_parameter_.value == stream.cuda_stream and isinstance(stream._as_parameter_, ctypes.c_void_p)
    assert stream.__cuda_stream__() == (0, stream.cuda_stream)


def test_row_event_cuda_event_externalstream() -> None:
    event = torch.cuda.Event()
    assert event.cuda_event == 0
    event.record()
    assert event.cuda_event == event.musa_event != 0 and event._as_parameter_.value == event.cuda_event
    stream = torch.cuda.Stream("cuda:1")
    external = torch.cuda.ExternalStream(stream.cuda_stream, device="cuda:1")
    assert isinstance(external, torch.cuda.Stream) and external.device == torch.device("cuda:1")
    assert external.cuda_stream == stream.cuda_stream
    with torch.cuda.stream(external):
        assert torch.cuda.current_stream("cuda:1") == stream


@pytest.mark.parametrize("device", ["cuda:1", torch.device("cuda", 1), 1])
def test_streams_from_external_handles(device: Any) -> None:
    stream = torch.cuda.Stream(device)
    found = torch.cuda.get_stream_from_external(stream.cuda_stream, device)
    assert isinstance(found, torch.cuda.Stream) and found.device.index == 1
    assert found.cuda_stream == stream.cuda_stream
    assert torch.cuda.get_stream_from_external(data_ptr=0, device=device) == torch.cuda.default_stream(device)
    assert torch.cuda.get_stream_from_external(torch.cuda.Stream().cuda_stream).device.index == 0


def test_row_stream_event_stream_as_classes_isinstance_subclass() -> None:
    from torch.cuda import streams

    class Mine(torch.cuda.Stream):
        def __new__(cls, name: str, **options: Any) -> Any:
            made = super().__new__(cls, **options)
            made.name = name
            return made

    class Timed(torch.cuda.Event):
        def __new__(cls) -> Any:
            return super().__new__(cls, enable_timing=True)

    stream, event = Mine("side", priority=-1), Timed()
    assert stream.name == "side" and stream.priority < 0
    for instance, owner in ((stream, torch.cuda.Stream), (event, torch.cuda.Event)):
        assert isinstance(instance, owner)
    with torch.cuda.stream(stream):
        event.record()
    assert event.elapsed_time(event) == 0
    assert isinstance(torch.cuda.current_stream(), torch.cuda.Stream)
    assert isinstance(torch.cuda.stream(stream), torch.cuda.StreamContext)
    assert issubclass(torch.cuda.Stream, torch._C._CudaStreamBase) and isinstance(stream, torch.Stream)
    assert issubclass(torch.cuda.Event, torch._C._CudaEventBase) and isinstance(event, torch.Event)
    assert issubclass(torch.cuda.ExternalStream, torch.cuda.Stream)
    assert streams.Stream is torch.cuda.Stream and streams.Event is torch.cuda.Event
    assert streams.ExternalStream is torch.cuda.ExternalStream


def test_priorities_end_at_zero(of_cuda: None) -> None:
    """As CUDA's pool of streams has it: lower numbers than it has are its lowest, and higher ones than 0 are refused."""
    assert torch.cuda.Stream(priority=0).priority == 0
    greatest = torch.cuda.Stream.priority_range()[1]
    assert torch.cuda.Stream(priority=-100).priority == greatest < 0
    for call in (lambda: torch.cuda.Stream(priority=1), lambda: torch.cuda.Stream("cuda:1", 1)):
        with pytest.raises(RuntimeError, match=r"^Expected cuda stream priority to be less than or equal to 0, got 1$"):
            call()
    with pytest.raises(TypeError, match="'str' object cannot be interpreted as an integer"):
        torch.cuda.Stream(priority="high")


def test_code_that_sees_musa_gets_torch_musas_priorities() -> None:
    assert torch.cuda.Stream(priority=1).priority == 0


@pytest.mark.parametrize("wrong", ["x", 1.5, None])
def test_events_are_made_of_numbers_and_bools(wrong: Any) -> None:
    for name in ("enable_timing", "blocking", "interprocess"):
        with pytest.raises(TypeError, match="cannot be interpreted as an integer"):
            torch.cuda.Event(**{name: wrong})


def test_row_torch_event_cuda_torch_stream_cuda() -> None:
    stream, event = torch.Stream("cuda"), torch.Event("cuda")
    assert stream.device.type == torch.device("cuda").type and torch.Stream(device="cuda:1").device.index == 1
    event.record(stream)
    event.synchronize()
    assert event.query() and stream.query()
    with torch.cuda.stream(torch.cuda.Stream()):
        torch.cuda.current_stream().wait_event(event)
    timed = torch.Event(device="cuda", enable_timing=True)
    timed.record(torch.cuda.current_stream())
    assert isinstance(timed, torch.Event)


def test_streams_are_compared_by_what_they_stand_for() -> None:
    stream, other = torch.cuda.Stream(), torch.cuda.Stream()
    with torch.cuda.stream(stream):
        current = torch.cuda.current_stream()
    assert current == stream and current is not stream and hash(current) == hash(stream)
    assert stream != other and stream != 7 and len({stream, current, other}) == 2
    assert hex(stream.cuda_stream) in repr(stream) and "Stream" in repr(stream)
    assert "Event" in repr(torch.cuda.Event())


@pytest.mark.parametrize("device", ["cuda:1", torch.device("cuda:1"), 1])
def test_streams_of_a_device(device: Any) -> None:
    stream = torch.cuda.Stream(device=device, priority=-1)
    assert stream.device == torch.device("cuda:1") and stream.device_index == 1
    assert torch.cuda.current_device() == 0
    with torch.cuda.stream(stream):
        assert torch.cuda.current_device() == 1
        assert torch.cuda.current_stream(device) == torch.cuda.current_stream() == stream
        assert torch.cuda.current_stream(0) == torch.cuda.default_stream("cuda:0")
    assert torch.cuda.current_device() == 0
    assert torch.cuda.current_stream(device) == torch.cuda.default_stream(device)


def test_priorities() -> None:
    lowest, highest = torch.cuda.Stream.priority_range()
    assert lowest == 0 > highest
    assert torch.cuda.Stream(priority=highest).priority == highest
    assert torch.cuda.Stream().priority == 0


def test_streams_are_set_and_left() -> None:
    stream = torch.cuda.Stream()
    torch.cuda.set_stream(stream)
    assert torch.cuda.current_stream() == stream
    torch.cuda.set_stream(None)
    assert torch.cuda.current_stream() == stream
    with torch.cuda.stream(None):
        assert torch.cuda.current_stream() == stream
    default = torch.cuda.default_stream()
    torch.cuda._set_stream_by_id(default.stream_id, default.device_index, default.device_type)
    assert torch.cuda.current_stream() == default


def test_order_between_streams() -> None:
    first, second = torch.cuda.Stream(), torch.cuda.Stream()
    with torch.cuda.stream(first):
        torch.cuda._sleep(20_000_000)
        event = first.record_event()
    assert not event.query() and not first.query()
    second.wait_event(event)
    done = second.record_event(torch.cuda.Event())
    assert not done.query()
    torch.cuda.current_stream().wait_stream(second)
    done.synchronize()
    assert event.query() and first.query() and second.query()
    second.synchronize()


def test_memory_is_recorded_in_a_stream() -> None:
    stream, x = torch.cuda.Stream(), torch.ones(1000, device="cuda")
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        torch.cuda._sleep(20_000_000)
        x.record_stream(stream)
    address = x.data_ptr()
    del x
    assert torch.empty(1000, device="cuda").data_ptr() != address
    stream.synchronize()


def test_events_by_position_and_by_keyword() -> None:
    begin = torch.cuda.Event(True, False, False, False)
    end = torch.cuda.Event(enable_timing=True, blocking=True, interprocess=False, external=False)
    begin.record()
    torch.cuda._sleep(2_000_000)
    end.record(torch.cuda.current_stream())
    end.synchronize()
    assert begin.elapsed_time(end) > 1
    with pytest.raises((RuntimeError, ValueError)):  # CUDA's raises the one or the other, by its version
        torch.cuda.Event().elapsed_time(end)
    with pytest.raises(TypeError):
        torch.cuda.Event(1, 2, 3, 4, 5)
    assert begin.device == torch.device("cuda:0") and torch.cuda.Event().query()


def test_external_events_are_ordinary_ones_outside_captures() -> None:
    event, stream = torch.cuda.Event(external=True), torch.cuda.Stream()
    stream.record_event(event)
    torch.cuda.current_stream().wait_event(event)
    event.record()
    event.wait(stream)
    event.synchronize()
    assert event.query()


@pytest.mark.parametrize("call", ["record", "wait"])
def test_external_events_are_no_part_of_a_graph(musa: Interpreter, call: str) -> None:
    """torch_musa 2.7.1 does not know them. On later releases they are: test_by_release.py."""
    code = f"""
    import pytest, torch, torchada
    event, x = torch.cuda.Event(external=True), torch.ones(1, device="cuda")
    event.record()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y = x + 1
        with pytest.raises(torchada.UnsupportedError, match=r"external=True.* in a capture"):
            event.{call}()
    graph.replay()
    assert y.item() == 2
    """
    musa.run(code, env={"MUSASIM_RELEASE": "2.7.1"}, forked=True)


def test_streams_and_events_are_not_pickled() -> None:
    for thing in (torch.cuda.Stream(), torch.cuda.Event()):
        with pytest.raises(TypeError, match="cannot pickle"):
            pickle.dumps(thing)


def test_a_handle_of_an_event_of_another_process() -> None:
    # A device gives handles away; the simulator's clocks belong to one process.
    with pytest.raises((NotImplementedError, RuntimeError, TypeError)):
        torch.cuda.Event.from_ipc_handle(torch.device("cuda:0"), b"\0" * 64)
