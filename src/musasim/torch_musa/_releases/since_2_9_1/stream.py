"""Streams and events that other code has made."""

from __future__ import annotations

from typing import Any

from ... import _MUSAC
from ...core import stream
from ...core._lazy_init import _lazy_init
from ...core._utils import DeviceUnion, _get_musa_device_index

_new = stream.Event.__new__


def get_stream_from_external(data_ptr: int, device: DeviceUnion = None) -> stream.Stream:
    """The stream that other code has created; 0 is the default stream."""
    _lazy_init()
    index = _get_musa_device_index(device, optional=True)
    return stream._from_ids(_MUSAC._musa_getStreamFromExternal(data_ptr, index))


class Event:
    """The methods of core.stream.Event. An external event that is captured becomes a node of the graph."""

    _external: bool

    def __new__(
        cls, enable_timing: bool = False, blocking: bool = False, interprocess: bool = False, external: bool = False
    ) -> Any:
        self = _new(cls, enable_timing, blocking, interprocess)  # type: ignore[arg-type]
        if external:
            self._external = True
        return self

    def record(self, stream: Any = None) -> None:
        """Put this event at the end of `stream`, the current one by default."""
        _MUSAC._MusaEventBase.record(self, *_order(self, stream))

    def wait(self, stream: Any = None) -> None:
        """Work given to `stream` (default: the current one) from now on waits for this event."""
        _MUSAC._MusaEventBase.wait(self, *_order(self, stream))


def _order(event: Any, on: Any) -> tuple[Any, bool]:
    """The stream, the current one by default, and whether the event is external."""
    return stream.current_stream() if on is None else on, getattr(event, "_external", False)
