"""Whether a kernel makes the host wait for the device."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torchada.redirect.context import Context
from torchada.redirect.engine import Skip

# A fiftieth and a tenth of a second at 1 GHz. Other work of the machine may hold a call up for as long as the first.
_CYCLES = (20_000_000, 100_000_000)


def need_streams(context: Context) -> None:
    """Skip the area for a backend that nobody can ask."""
    if not all(hasattr(context.namespace, name) for name in ("is_current_stream_capturing", "Stream", "_sleep")):
        raise Skip(f"{context.backend.adapter} has no graphs, or no way to see what makes the host wait")


class Waiting:
    """What stands in for a kernel that makes the host wait, which no graph's capture allows."""

    def __init__(self, context: Context) -> None:
        self._torch = context.torch
        self._namespace: Any = context.namespace

    def goes_on(self, call: Callable[[], object], device: Any) -> bool:
        """Whether the host goes on while the device is still busy with what came before `call`."""
        namespace = self._namespace
        stream = namespace.Stream(device)
        stream.wait_stream(namespace.current_stream(device))
        with namespace.stream(stream):
            call()  # the first call loads kernels and requests memory
            return any(self._leaves_pending(call, cycles, stream) for cycles in _CYCLES)

    def _leaves_pending(self, call: Callable[[], object], cycles: int, stream: Any) -> bool:
        namespace = self._namespace
        stream.synchronize()
        namespace._sleep(cycles)
        before = namespace.Event()
        before.record()
        call()
        is_pending = not before.query()
        stream.synchronize()
        return is_pending
