"""torch.accelerator calls the backend's namespace where its generic code needs what the backend's guard and allocator may lack.

The functions of torch._C that torch.accelerator calls are replaced. So the functions of torch.accelerator keep their argument
checks, and names that were imported earlier are redirected too. torch.accelerator.current_accelerator() still returns the
backend's own device.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from torchada.redirect.calls import disguise
from torchada.redirect.context import Context
from torchada.redirect.engine import Patch

if TYPE_CHECKING:
    from torchada.redirect.types import P, R

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

# Bound by pybind11, which makes their errors without asking torch.
_WITH_OWN_ERRORS = {"_accelerator_setDeviceIndex": "set_device_index", "_accelerator_getStream": "current_stream"}


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
    for native, function in _WITH_OWN_ERRORS.items():
        original = getattr(context.torch._C, native, None)
        if original is not None:
            call = disguise(_with_cudas_words(context, original), original)
            yield Patch(context.torch._C, native, call, None, note=f"errors of torch.accelerator.{function}")


def _with_cudas_words(context: Context, original: Callable[P, R]) -> Callable[P, R]:
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return original(*args, **kwargs)
        except RuntimeError as error:
            from torchada.redirect.backend_words import error_of_cuda  # no error is raised at the start

            raise error_of_cuda(error, context) from error.__cause__

    return call


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
