"""Device memory: statistics, allocators and limits."""

from __future__ import annotations

import collections
import contextlib
import ctypes
import pickle
import sys
from collections.abc import Iterator
from typing import Any

from torch._utils import _get_device_index

from musasim.base import release as _release

from .. import _MUSAC
from . import _memory_report
from ._lazy_init import _lazy_init, is_initialized
from ._utils import DeviceUnion, _get_musa_device_index
from .device import current_device, device_count

_MemPool = _MUSAC._MemPool
# Releases that have not got it have no class MemPoolContext either, see `_releases`.
_MemPoolContext: Any = getattr(_MUSAC, "_MemPoolContext", object)
_musa_beginAllocateToPool = _MUSAC._musa_beginAllocateToPool
_musa_endAllocateCurrentStreamToPool = _MUSAC._musa_endAllocateCurrentStreamToPool

__all__ = [
    "MUSAPluggableAllocator",
    "MemPool",
    "MemPoolContext",
    "_dump_snapshot",
    "_record_memory_history",
    "_set_allocator_settings",
    "change_current_allocator",
    "empty_cache",
    "get_allocator_backend",
    "max_memory_allocated",
    "max_memory_reserved",
    "mem_get_info",
    "memory_allocated",
    "memory_reserved",
    "memory_snapshot",
    "memory_stats",
    "memory_stats_all",
    "memory_stats_as_nested_dict",
    "memory_summary",
    "reset_accumulated_memory_stats",
    "reset_max_memory_allocated",
    "reset_max_memory_cached",
    "reset_peak_memory_stats",
    "set_per_process_memory_fraction",
    "use_mem_pool",
]


def set_per_process_memory_fraction(fraction: float, device: DeviceUnion = None) -> None:
    """Limit this process to a fraction of the memory of `device`."""
    _lazy_init()
    index = _get_musa_device_index(device)
    if not isinstance(fraction, float):
        raise TypeError("Invalid type for fraction argument, must be `float`")
    if not 0 <= fraction <= 1:
        raise ValueError(f"Invalid fraction value: {fraction}. Allowed range: 0~1")
    _MUSAC._musa_setMemoryFraction(fraction, index)


def empty_cache() -> None:
    """Return unused cached memory to the driver."""
    if is_initialized():
        _MUSAC._musa_emptyCache()


def memory_stats(device: DeviceUnion = None) -> dict[str, Any]:
    """All counters of the allocator, flat: "allocated_bytes.all.peak" and so on. Empty before initialisation."""
    flat: list[tuple[str, Any]] = []

    def flatten(prefix: str, value: Any) -> None:
        if not isinstance(value, dict):
            flat.append((prefix, value))
            return
        for key, inner in value.items():
            flatten(f"{prefix}.{key}" if prefix else key, inner)

    flatten("", memory_stats_as_nested_dict(device))
    return collections.OrderedDict(sorted(flat))


def memory_stats_as_nested_dict(device: DeviceUnion = None) -> dict[str, Any]:
    """memory_stats() as dictionaries in dictionaries."""
    if not is_initialized():
        return {}
    stats: dict[str, Any] = _MUSAC._musa_memoryStats(_get_musa_device_index(device, optional=True))
    return stats


def memory_stats_all() -> dict[str, Any]:
    """memory_stats() of all devices together: the sums, but the largest of the peaks. Other keys are 0."""
    total: dict[str, Any] = collections.defaultdict(int)
    for index in range(device_count()):
        for key, value in memory_stats(index).items():
            is_peak = key.rpartition(".")[2] == "peak"
            total[key] = max(total[key], value) if is_peak else total[key] + value
    return total


def reset_accumulated_memory_stats(device: DeviceUnion = None) -> None:
    """Reset the counters of allocated and freed memory."""
    _MUSAC._musa_resetAccumulatedMemoryStats(_get_musa_device_index(device, optional=True))


def reset_peak_memory_stats(device: DeviceUnion = None) -> None:
    """Reset the peaks to the current use."""
    _MUSAC._musa_resetPeakMemoryStats(_get_musa_device_index(device, optional=True))


def reset_max_memory_allocated(device: DeviceUnion = None) -> None:
    """Old name of reset_peak_memory_stats, and like it for all peaks. NameError in 2.7.1."""
    _warn_resets_all_peaks("reset_max_memory_allocated")
    reset_peak_memory_stats(device)


def reset_max_memory_cached(device: DeviceUnion = None) -> None:
    """Old name of reset_peak_memory_stats, and like it for all peaks. NameError in 2.7.1."""
    _warn_resets_all_peaks("reset_max_memory_cached")
    reset_peak_memory_stats(device)


def _warn_resets_all_peaks(name: str) -> None:
    if not _release.since("2.9.1"):
        # The module warns without having imported what it warns with.
        raise NameError("name 'warnings' is not defined", name="warnings")
    import warnings

    warnings.warn(
        f"torch.musa.{name} now calls torch.musa.reset_peak_memory_stats, which resets /all/ peak memory stats.",
        FutureWarning,
        stacklevel=3,
    )


def memory_allocated(device: DeviceUnion = None) -> int:
    """Bytes that tensors occupy."""
    return int(memory_stats(device).get("allocated_bytes.all.current", 0))


def max_memory_allocated(device: DeviceUnion = None) -> int:
    """The largest number of bytes that tensors have occupied."""
    return int(memory_stats(device).get("allocated_bytes.all.peak", 0))


def memory_reserved(device: DeviceUnion = None) -> int:
    """Bytes that the allocator has got from the driver, in use or cached."""
    return int(memory_stats(device).get("reserved_bytes.all.current", 0))


def max_memory_reserved(device: DeviceUnion = None) -> int:
    """The largest number of bytes that the allocator has had from the driver."""
    return int(memory_stats(device).get("reserved_bytes.all.peak", 0))


def mem_get_info(device: DeviceUnion = None) -> tuple[int, int]:
    """(free, total) bytes of `device`, other processes included."""
    _lazy_init()
    free, total = _MUSAC._musart.musaMemGetInfo(_get_musa_device_index(device, optional=True))
    return free, total


def memory_summary(device: DeviceUnion = None, abbreviated: bool = False) -> str:
    """memory_stats() as a table for people."""
    index = _get_musa_device_index(device, optional=True)
    return _memory_report.table(index, memory_stats(index), abbreviated)


def memory_snapshot() -> list[dict[str, Any]]:
    """Every segment and the blocks in it."""
    segments: list[dict[str, Any]] = _snapshot()["segments"]
    return segments


def _snapshot(device: DeviceUnion = None) -> dict[str, Any]:
    snapshot: dict[str, Any] = _MUSAC._musa_memorySnapshot()
    return snapshot


def _dump_snapshot(filename: str = "dump_snapshot.pickle") -> None:
    with open(filename, "wb") as file:
        pickle.dump(_snapshot(), file)


def _record_memory_history(enabled: Any = "all", *args: Any, **kwargs: Any) -> None:
    """Record where memory is allocated and freed, for _snapshot(). None stops the recording."""
    record = _record_memory_history_legacy if isinstance(enabled, bool) else _record_memory_history_impl
    record(enabled, *args, **kwargs)


def _record_memory_history_legacy(
    enabled: bool,
    record_context: bool = True,
    trace_alloc_max_entries: int = 1,
    trace_alloc_record_context: bool = False,
    device: DeviceUnion = None,
    record_context_cpp: bool = False,
) -> None:
    _MUSAC._musa_record_memory_history_legacy(
        enabled, record_context, trace_alloc_max_entries, trace_alloc_record_context, record_context_cpp
    )


def _record_memory_history_impl(
    enabled: str | None = "all",
    context: str | None = "all",
    stacks: str = "all",
    max_entries: int = sys.maxsize,
    device: DeviceUnion = None,
) -> None:
    _MUSAC._musa_record_memory_history(enabled, context, stacks, max_entries)


def _select_format_flamegraph(flamegraph_lines: str) -> str:
    return str(_memory_viz().format_flamegraph(flamegraph_lines))


def _save_segment_usage(filename: str = "output.svg", snapshot: Any = None) -> None:
    lines = _memory_viz().segments(_snapshot() if snapshot is None else snapshot)
    _write(filename, _select_format_flamegraph(lines))


def _save_memory_usage(filename: str = "output.svg", snapshot: Any = None) -> None:
    lines = _memory_viz().memory(_snapshot() if snapshot is None else snapshot)
    _write(filename, _select_format_flamegraph(lines))


def _memory_viz() -> Any:
    import torch.cuda._memory_viz

    return torch.cuda._memory_viz


def _write(filename: str, text: str) -> None:
    with open(filename, "w") as file:
        file.write(text)


def _set_allocator_settings(env: str) -> None:
    """Change the settings from now on. The format is that of PYTORCH_MUSA_ALLOC_CONF."""
    _MUSAC._musa_musaCachingAllocator_set_allocator_settings(env)


def get_allocator_backend() -> str:
    """Name of the allocator in use, "native" as a rule."""
    return str(_MUSAC._musa_getAllocatorBackend())


class _MUSAAllocator:
    """Holds a native allocator."""

    def __init__(self, allocator: Any) -> None:
        self._allocator = allocator

    def allocator(self) -> Any:
        return self._allocator


class MUSAPluggableAllocator(_MUSAAllocator):
    """An allocator made of two C functions in a shared library."""

    def __init__(self, path_to_so_file: str, alloc_fn_name: str, free_fn_name: str) -> None:
        library = ctypes.CDLL(path_to_so_file)
        addresses = [
            ctypes.cast(getattr(library, name), ctypes.c_void_p).value for name in (alloc_fn_name, free_fn_name)
        ]
        super().__init__(_MUSAC._musa_customAllocator(*addresses))
        # The library must stay loaded as long as its functions may be called.
        self._library = library


def change_current_allocator(allocator: _MUSAAllocator) -> None:
    """Let `allocator` provide the memory from now on. This works only before the first allocation."""
    _MUSAC._musa_changeCurrentAllocator(allocator.allocator())


def _get_current_allocator() -> _MUSAAllocator:
    return _MUSAAllocator(_MUSAC._musa_getAllocator())


class MemPool(_MemPool):  # type: ignore[misc, valid-type]
    """Memory that is kept apart from the rest, optionally with its own allocator."""

    def __init__(self, allocator: Any = None) -> None:
        super().__init__(allocator, True)

    @property
    def id(self) -> tuple[int, int]:
        """The pool's id, which graphs use as well."""
        identity: tuple[int, int] = super().id
        return identity

    @property
    def allocator(self) -> Any:
        """The allocator that the pool was made with."""
        return super().allocator


class MemPoolContext(_MemPoolContext):  # type: ignore[misc]
    """Makes a pool active as long as this object lives."""

    def __init__(self, pool: MemPool) -> None:
        super().__init__(pool)

    @staticmethod
    def active_pool() -> Any:
        """The pool that allocations currently come from, or None."""
        return _MemPoolContext.activate_pool()


@contextlib.contextmanager
def use_mem_pool(pool: MemPool, device: DeviceUnion = None) -> Iterator[None]:
    """Allocations inside the block come from `pool`."""
    context = MemPoolContext(pool)
    # By torch's own function, which takes devices of any type with an index.
    index = current_device() if device is None else _get_device_index(device)
    _musa_beginAllocateToPool(index, pool.id)
    try:
        yield
    finally:
        _musa_endAllocateCurrentStreamToPool(index, pool.id)
        del context
