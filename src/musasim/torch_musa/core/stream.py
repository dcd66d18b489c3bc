"""Streams and events, which order the device's work."""

from __future__ import annotations

import ctypes
from typing import Any

from .. import _MUSAC
from ._lazy_init import _lazy_init
from ._utils import DeviceUnion as _device_t
from ._utils import _get_musa_device_index
from .device import Device as device


class Stream(_MUSAC._MusaStreamBase):  # type: ignore[misc]
    """A queue of device work, independent of other queues. Lower `priority` numbers go first."""

    def __new__(cls, device: _device_t = None, priority: int = 0, **kwargs: Any) -> Any:
        # The native constructor uses the current device, unless the caller's ids already name the device.
        if device is None or ("stream_id" in kwargs and "device_index" in kwargs):
            return super().__new__(cls, priority=priority, **kwargs)
        with _device(device):
            return super().__new__(cls, priority=priority, **kwargs)

    def wait_event(self, event: Event) -> None:
        """Work given to this stream from now on waits for `event`."""
        event.wait(self)

    def wait_stream(self, stream: Stream) -> None:
        """Work given to this stream from now on waits for all work given to `stream` so far."""
        self.wait_event(stream.record_event())

    def record_event(self, event: Event | None = None) -> Event:
        """Put `event`, or a new one, at the end of this stream."""
        event = Event() if event is None else event
        event.record(self)
        return event

    def query(self) -> bool:
        """Whether all work of this stream is done."""
        return bool(super().query())

    def synchronize(self) -> None:
        """Wait for all work of this stream."""
        super().synchronize()

    @property
    def _as_parameter_(self) -> ctypes.c_void_p:
        return ctypes.c_void_p(self.musa_stream)

    def __eq__(self, o: object) -> bool:
        return bool(super().__eq__(o)) if isinstance(o, Stream) else False

    def __hash__(self) -> int:
        return hash((self.musa_stream, self.device))

    def __repr__(self) -> str:
        return f"torch_musa.Stream device={self.device} musa_stream={self.musa_stream:#x}"


# Inside Stream the name `device` is a parameter.
_device = device


class ExternalStream(Stream):
    """A stream that other code created and will destroy."""

    def __new__(cls, stream_ptr: int, device: _device_t = None, **kwargs: Any) -> Any:
        with _device(device):
            return super().__new__(cls, stream_ptr=stream_ptr, **kwargs)


class Event(_MUSAC._MusaEventBase):  # type: ignore[misc]
    """A point in a stream. Work can wait for it, and the time between two events can be measured."""

    _interprocess = False

    def __new__(cls, enable_timing: bool = False, blocking: bool = False, interprocess: bool = False) -> Any:
        self = super().__new__(cls, enable_timing=enable_timing, blocking=blocking, interprocess=interprocess)
        if interprocess:
            self._interprocess = True
        return self

    @classmethod
    def from_ipc_handle(cls, device: Any, handle: bytes) -> Any:
        """The event that another process exported by ipc_handle()."""
        return super().from_ipc_handle(device, handle)

    def record(self, stream: Stream | None = None) -> None:
        """Put this event at the end of `stream`, the current one by default."""
        super().record(current_stream() if stream is None else stream)

    def wait(self, stream: Stream | None = None) -> None:
        """Work given to `stream` (default: the current one) from now on waits for this event."""
        super().wait(current_stream() if stream is None else stream)

    def query(self) -> bool:
        """Whether the work before this event is done; True when it was never recorded."""
        return bool(super().query())

    def elapsed_time(self, end_event: Event) -> float:
        """Milliseconds between this event and `end_event`."""
        return float(super().elapsed_time(end_event))

    def synchronize(self) -> None:
        """Wait for the work before this event."""
        super().synchronize()

    def ipc_handle(self) -> Any:
        """The handle that another process needs for from_ipc_handle()."""
        if not self._interprocess:  # the driver's error
            raise RuntimeError("MUSA error: invalid resource handle")
        return super().ipc_handle()

    @property
    def _as_parameter_(self) -> ctypes.c_void_p:
        return ctypes.c_void_p(self.musa_event)

    def __repr__(self) -> str:
        if self.musa_event:
            return f"<torch_musa.Event {self._as_parameter_.value:#x}>"
        return "<torch_musa.Event uninitialized>"


class StreamContext:
    """Make `stream` current on its device inside the block, and its device the current one. None does nothing."""

    cur_stream: Stream | None = None

    def __init__(self, stream: Stream | None) -> None:
        self.stream = stream
        # Queried even if there is nothing to do, because this call raises the error if there is no device.
        self.idx = _get_musa_device_index(None, True)
        self.src_prev_stream: Stream | None = None
        self.dst_prev_stream: Stream | None = None

    def __enter__(self) -> None:
        if self.stream is None:
            return
        self.src_prev_stream = current_stream(None)
        if self.src_prev_stream.device != self.stream.device:
            with device(self.stream.device):
                self.dst_prev_stream = current_stream(self.stream.device)
        set_stream(self.stream)

    def __exit__(self, type: Any, value: Any, traceback: Any) -> None:
        if self.stream is None:
            return
        if self.dst_prev_stream is not None:
            set_stream(self.dst_prev_stream)
        # Last, because it restores the device as well.
        set_stream(self.src_prev_stream)


def stream(stream: Stream | None) -> StreamContext:
    """`with torch.musa.stream(s):`, see StreamContext."""
    return StreamContext(stream)


def _set_stream_by_id(stream_id: int, device_index: int, device_type: int) -> None:
    _MUSAC._musa_setStream(stream_id=stream_id, device_index=device_index, device_type=device_type)


def set_stream(stream: Stream | None) -> None:
    """Make `stream` current on its device, and its device the current one."""
    if stream is not None:
        _set_stream_by_id(stream.stream_id, stream.device_index, stream.device_type)


def current_stream(device: _device_t = None) -> Stream:
    """The current stream of `device`."""
    _lazy_init()
    return _from_ids(_MUSAC._musa_getCurrentStream(_get_musa_device_index(device, optional=True)))


def default_stream(device: _device_t = None) -> Stream:
    """The default stream of `device`."""
    _lazy_init()
    return _from_ids(_MUSAC._musa_getDefaultStream(_get_musa_device_index(device, optional=True)))


def _from_ids(ids: tuple[int, int, int]) -> Stream:
    stream: Stream = Stream(stream_id=ids[0], device_index=ids[1], device_type=ids[2])
    return stream
