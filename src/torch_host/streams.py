"""Streams and events of the host. Every kernel is done when it returns, so streams are in order, and nothing is pending."""

from __future__ import annotations

import itertools
import threading
import time
from types import TracebackType
from typing import Any

import torch

from torch_host.devices import current_device, index_of, set_device

_numbers = itertools.count(1)


class Stream:
    """A stream: a number on a device. What is put into it is done at once.

    device: the device, default the current one. priority: kept, and without effect.
    """

    def __init__(self, device: Any = None, priority: int = 0, **kwargs: Any) -> None:
        self._place(index_of(device), next(_numbers))
        self.priority = priority

    def _place(self, index: int, number: int) -> None:
        self.device_index, self.cuda_stream = index, number

    @property
    def device(self) -> torch.device:
        return torch.device("cuda", self.device_index)

    @property
    def stream_id(self) -> int:
        return self.cuda_stream

    @property
    def device_type(self) -> int:
        return 1  # CUDA's number among PyTorch's device types

    @staticmethod
    def priority_range() -> tuple[int, int]:
        return 0, -1

    def query(self) -> bool:
        return True

    def synchronize(self) -> None:
        """Wait for what was put into the stream; it is done."""

    def wait_event(self, event: Event) -> None:
        """Let the stream wait for an event; what precedes it is done."""

    def wait_stream(self, stream: Stream) -> None:
        """Let the stream wait for another; what is in that one is done."""

    def record_event(self, event: Event | None = None) -> Event:
        event = Event() if event is None else event
        event.record(self)
        return event

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Stream):
            return NotImplemented
        return (self.device_index, self.cuda_stream) == (other.device_index, other.cuda_stream)

    def __hash__(self) -> int:
        return hash((self.cuda_stream, self.device_index))

    def __repr__(self) -> str:
        return f"<torch.cuda.Stream device={self.device} cuda_stream={self.cuda_stream:#x}>"


class ExternalStream(Stream):
    """A stream by a number from elsewhere."""

    def __init__(self, stream_ptr: int, device: Any = None) -> None:
        self._place(index_of(device), stream_ptr)
        self.priority = 0


class Event:
    """A point in time. `enable_timing` allows elapsed_time; the other arguments have no effect."""

    cuda_event = 0

    def __new__(
        cls,
        enable_timing: bool = False,
        blocking: bool = False,
        interprocess: bool = False,
        external: bool = False,
    ) -> Event:
        made = super().__new__(cls)
        made.enable_timing = enable_timing
        made._time, made._index = None, None
        return made

    enable_timing: bool
    _time: int | None
    _index: int | None

    @property
    def device(self) -> torch.device | None:
        return None if self._index is None else torch.device("cuda", self._index)

    def record(self, stream: Stream | None = None) -> None:
        self._index = current_device() if stream is None else stream.device_index
        self._time = time.perf_counter_ns()

    def query(self) -> bool:
        return True

    def wait(self, stream: Stream | None = None) -> None:
        """Let a stream wait for the event; what precedes it is done."""

    def synchronize(self) -> None:
        """Wait for the event; what precedes it is done."""

    def elapsed_time(self, end_event: Event) -> float:
        """Milliseconds from this event to `end_event`, by the clock of the system.

        Raises ValueError where one of them keeps no time or has not been recorded, as on CUDA.
        """
        if not (self.enable_timing and end_event.enable_timing):
            raise ValueError("Both events must be created with argument 'enable_timing=True'.")
        if self._time is None or end_event._time is None:
            raise ValueError("Both events must be recorded before calculating elapsed time.")
        return (end_event._time - self._time) / 1e6

    def ipc_handle(self) -> bytes:
        raise RuntimeError("events of the host cannot be sent to another process")

    def __repr__(self) -> str:
        return "<torch.cuda.Event uninitialized>" if self._time is None else "<torch.cuda.Event recorded>"


class _Currents(threading.local):
    """The current stream of each device, which every thread has for itself; the default stream where there is none."""

    def __init__(self) -> None:
        self.streams: dict[int, Stream] = {}


_currents = _Currents()


def default_stream(device: Any = None) -> Stream:
    made = Stream.__new__(Stream)
    made._place(index_of(device), 0)
    made.priority = 0
    return made


def current_stream(device: Any = None) -> Stream:
    index = index_of(device)
    return _currents.streams.get(index) or default_stream(index)


def set_stream(stream: Stream | None) -> None:
    """Make a stream the current one of its device, and its device the current one; None changes nothing."""
    if stream is not None:
        set_device(stream.device_index)
        _currents.streams[stream.device_index] = stream


class StreamContext:
    """`with torch.cuda.stream(s)`: s is current within the block; None changes nothing."""

    def __init__(self, stream: Stream | None) -> None:
        self.stream = stream
        self._before: tuple[int, Stream] | None = None

    def __enter__(self) -> None:
        if self.stream is not None:
            self._before = current_device(), current_stream(self.stream.device_index)
            set_stream(self.stream)

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._before is not None:
            device, stream = self._before
            set_stream(stream)
            set_device(device)


def stream(stream: Stream | None) -> StreamContext:
    return StreamContext(stream)
