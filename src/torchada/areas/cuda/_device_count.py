"""How many devices there are, found as torch.cuda finds it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from torchada.redirect.calls import disguise, original_of

if TYPE_CHECKING:
    from torchada.redirect.context import Context


class DeviceCount:
    """The number of visible devices.

    Asking the runtime makes its answer final, and keeps forked children from using a device. So the management library is asked
    until a device has been used, each time anew because the program may still hide devices; without that library, the runtime.
    """

    def __init__(self, context: Context) -> None:
        cuda, self._namespace = context.torch.cuda, context.namespace
        # The backend's own: its namespace's function asks here, once it is adapted.
        self._by_runtime: Callable[[], int] = original_of(context.namespace.device_count)
        self._by_management: Callable[[], int] | None = cuda._device_count_nvml if context.backend.management else None
        self.final: int | None = None

    def known(self) -> int:
        """The number, which is not asked for again once it is final."""
        return self.ask() if self.final is None else self.final

    def ask(self) -> int:
        """The number; `final` is set once it cannot change any more."""
        if self._by_management is not None and not self._namespace.is_initialized():
            count = self._by_management()
            if count >= 0:
                return count
        self.final = int(self._by_runtime())
        return self.final


def device_count(context: Context) -> Callable[[], int]:
    """torch.cuda.device_count."""
    count = DeviceCount(context)

    def device_count() -> int:
        return count.ask() if count.final is None else count.final  # not known(): this is asked often

    return disguise(device_count, context.torch.cuda.device_count)
