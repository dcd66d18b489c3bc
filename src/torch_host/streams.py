"""Streams and events of the host. Every kernel is done when it returns, so streams are in order, and nothing is pending."""

from __future__ import annotations

import ctypes
import itertools
import operator
import threading
import time
from types import TracebackType
from typing import Any, NoReturn

import torch

from torch_host.devices import current_device, entered, index_of, set_device

_numbers = itertools.count(1)
_CUDA = 1  # among PyTorch's device types
_OF_ONE_PROCESS = "events of the host cannot be sent to another process"


class Stream(torch.Stream):
    """A stream: a number on a device. What is put into it is done at once.

    device: the device, default the current one. priority: from -1 to 0, kept and without effect; lower ones are -1.

    Raises RuntimeError for a priority above 0, as CUDA does.
    """

    priority: int

    def __new__(cls, device: Any = None, priority: int = 0, **kwargs: Any) -> Any:
        index = kwargs.get("device_index")
        index = entered(device) if index is None else index
        return cls._numbered(index, kwargs.get("stream_id", next(_numbers)), _in_range(priority))

    @classmethod
    def _numbered(cls, index: int, number: int, priority: int = 0) -> Any:
        made = torch.Stream.__new__(cls, stream_id=number, device_index=index, device_type=_CUDA)
        made.priority = priority
        return made

    @property
    def cuda_stream(self) -> int:
        return int(self.stream_id)

    @property
    def _as_parameter_(self) -> ctypes.c_void_p:
        return ctypes.c_void_p(self.cuda_stream)

    def __cuda_stream__(self) -> tuple[int, int]:
        """Version and handle, as the CUDA stream protocol requires."""
        return 0, self.cuda_stream

    @staticmethod
    def priority_range() -> tuple[int, int]:
        return 0, -1

    def query(self) -> bool:
        return True

    def synchronize(self) -> None:
        """Nothing to wait for: operators on the CPU are complete when they return."""

    def wait_event(self, event: Any) -> None:
        """Nothing to wait for: what precedes the event is complete."""

    def wait_stream(self, stream: Any) -> None:
        """Nothing to wait for: what the other stream was given is complete."""

    def record_event(self, event: Any = None) -> Any:
        event = Event() if event is None else event
        event.record(self)
        return event

    def __enter__(self) -> Stream:
        _entered().append(StreamContext(self))
        _entered()[-1].__enter__()
        return self

    def __exit__(self, *problem: Any) -> None:
        _entered().pop().__exit__(*problem)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Stream):
            return False
        return (self.device_index, self.cuda_stream) == (other.device_index, other.cuda_stream)

    def __hash__(self) -> int:
        return hash((self.cuda_stream, self.device_index))

    def __reduce__(self) -> NoReturn:
        raise TypeError("cannot pickle 'Stream' object")

    def __repr__(self) -> str:
        return f"<torch.cuda.Stream device={self.device} cuda_stream={self.cuda_stream:#x}>"


class ExternalStream(Stream):
    """A stream by a number from elsewhere."""

    def __new__(cls, stream_ptr: int, device: Any = None, **kwargs: Any) -> Any:
        return cls._numbered(entered(device), stream_ptr)


def _in_range(priority: int) -> int:
    if operator.index(priority) > 0:
        raise RuntimeError(f"Expected cuda stream priority to be less than or equal to 0, got {priority}")
    return max(priority, Stream.priority_range()[1])


def get_stream_from_external(data_ptr: int, device: Any = None) -> Stream:
    """The stream of that number; 0 is the default stream's."""
    return ExternalStream(data_ptr, device) if data_ptr else default_stream(device)


class Event(torch.Event):
    """A point in time. `enable_timing` allows elapsed_time; the other arguments have no effect."""

    def __new__(
        cls,
        enable_timing: bool = False,
        blocking: bool = False,
        interprocess: bool = False,
        external: bool = False,
    ) -> Any:
        # CUDA's constructor takes its options as integers, and says so of others.
        made = torch.Event.__new__(cls, "cpu")
        made.enable_timing, *_ = (
            bool(operator.index(given)) for given in (enable_timing, blocking, interprocess, external)
        )
        made._time, made._index = None, None
        return made

    @classmethod
    def _on(cls, device: Any = None, **options: Any) -> Event:
        """What torch.Event("cuda:1") makes."""
        made: Event = cls(**options)
        made._index = None if device is None else index_of(device)
        return made

    @property
    def cuda_event(self) -> int:
        """A number that no other event has; 0 before the event is recorded."""
        return 0 if self._time is None else id(self)

    @property
    def _as_parameter_(self) -> ctypes.c_void_p:
        return ctypes.c_void_p(self.cuda_event)

    enable_timing: bool
    _time: int | None
    _index: int | None

    @property
    def device(self) -> torch.device | None:  # type: ignore[override]
        return None if self._index is None else torch.device("cuda", self._index)

    def record(self, stream: Any = None) -> None:
        self._index = current_device() if stream is None else stream.device_index
        self._time = time.perf_counter_ns()

    def query(self) -> bool:
        return True

    def wait(self, stream: Any = None) -> None:
        """Let a stream wait for the event; what precedes it is done."""

    def synchronize(self) -> None:
        """Wait for the event; what precedes it is done."""

    def elapsed_time(self, end_event: Any) -> float:
        """Milliseconds from this event to `end_event`, by the clock of the system.

        Raises ValueError where one of them keeps no time or has not been recorded, as on CUDA.
        """
        if not (self.enable_timing and end_event.enable_timing):
            raise ValueError("Both events must be created with argument 'enable_timing=True'.")
        if self._time is None or end_event._time is None:
            raise ValueError("Both events must be recorded before calculating elapsed time.")
        elapsed: float = (end_event._time - self._time) / 1e6
        return elapsed

    def ipc_handle(self) -> NoReturn:
        raise RuntimeError(_OF_ONE_PROCESS)

    @classmethod
    def from_ipc_handle(cls, device: Any, handle: bytes) -> NoReturn:
        raise RuntimeError(_OF_ONE_PROCESS)

    def __reduce__(self) -> NoReturn:
        raise TypeError("cannot pickle 'Event' object")

    def __repr__(self) -> str:
        return "<torch.cuda.Event uninitialized>" if self._time is None else "<torch.cuda.Event recorded>"


class _Currents(threading.local):
    """The current stream of each device, which every thread has for itself; the default stream where there is none."""

    def __init__(self) -> None:
        self.streams: dict[int, Stream] = {}
        self.entered: list[StreamContext] = []


_currents = _Currents()


def _entered() -> list[StreamContext]:
    """The blocks `with stream:` that this thread is in."""
    return _currents.entered


def default_stream(device: Any = None) -> Stream:
    made: Stream = Stream._numbered(entered(device), 0)
    return made


def current_stream(device: Any = None) -> Stream:
    """The stream that is current on a device: a new object at each call, as on CUDA, equal to the one that was set."""
    index = entered(device)
    current = _currents.streams.get(index)
    if current is None:
        return default_stream(index)
    made: Stream = Stream._numbered(index, current.stream_id, current.priority)
    return made


def set_stream(stream: Stream | None) -> None:
    """Make a stream the current one of its device, and its device the current one; None changes nothing."""
    if stream is not None:
        set_device(stream.device_index)
        _currents.streams[stream.device_index] = stream


def _set_stream_by_id(stream_id: int, device_index: int, device_type: int) -> None:
    set_stream(Stream._numbered(device_index, stream_id))


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


def _sleep(cycles: int) -> None:
    """Keep the stream busy for so many cycles of a clock of 1 GHz; the host is in step with its streams, so it sleeps."""
    time.sleep(cycles / 1e9)
