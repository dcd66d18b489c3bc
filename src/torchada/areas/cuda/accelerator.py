"""torch.accelerator calls the backend's namespace where its generic code needs what the backend's guard and allocator may lack.

The functions of torch._C that torch.accelerator calls are replaced. So the functions of torch.accelerator keep their argument
checks, and names that were imported earlier are redirected too. torch.accelerator.current_accelerator() still returns the
backend's own device.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from torchada.redirect.calls import disguise
from torchada.redirect.context import Context
from torchada.redirect.engine import Patch

# What torch.accelerator calls in torch._C, the function of torch.accelerator that it serves, and what the namespace calls it.
_BY_DEVICE = {
    "_accelerator_synchronizeDevice": ("synchronize", "synchronize"),
    "_accelerator_getDeviceStats": ("memory_stats", "memory_stats_as_nested_dict"),
    "_accelerator_getMemoryInfo": ("get_memory_info", "mem_get_info"),
    "_accelerator_resetAccumulatedStats": ("reset_accumulated_memory_stats", "reset_accumulated_memory_stats"),
    "_accelerator_resetPeakStats": ("reset_peak_memory_stats", "reset_peak_memory_stats"),
}
_WITHOUT_ARGUMENT = {
    "_accelerator_isAllocatorInitialized": ("memory_stats", "is_initialized"),
    "_accelerator_emptyCache": ("empty_cache", "empty_cache"),
}


def patches(context: Context) -> Iterator[Patch]:
    for names, make in ((_BY_DEVICE, _by_device), (_WITHOUT_ARGUMENT, _without_argument)):
        for native, (function, own) in names.items():
            original = getattr(context.torch._C, native, None)
            if original is None or not hasattr(context.namespace, own):
                continue
            replacement = disguise(make(context, own), original)
            yield Patch(
                context.torch._C,
                native,
                replacement,
                None,
                note=f"torch.accelerator.{function}",
                to=f"torch.{context.backend.namespace}.{own}",
            )


def _by_device(context: Context, name: str) -> Callable[[int], object]:
    # Looked up at the call, because programs and tools replace functions of the namespace.
    namespace = context.namespace

    def call(device_index: int) -> object:
        return getattr(namespace, name)(device_index)

    return call


def _without_argument(context: Context, name: str) -> Callable[[], object]:
    namespace = context.namespace

    def call() -> object:
        return getattr(namespace, name)()

    return call
