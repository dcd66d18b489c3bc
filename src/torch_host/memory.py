"""Figures of memory. A host has no allocator of its own to count for, so these are the process's, in bytes."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from torch_host.devices import index_of

_STATUS = Path("/proc/self/status")
_PAGE = os.sysconf("SC_PAGE_SIZE")
_COUNTED = ("allocated_bytes", "reserved_bytes", "active_bytes", "requested_bytes")
_NOT_COUNTED = ("allocation", "segment", "active", "inactive_split", "inactive_split_bytes")
_TOTALS = ("num_alloc_retries", "num_ooms", "num_sync_all_streams", "num_device_alloc", "num_device_free")


def memory_allocated(device: Any = None) -> int:
    """The resident memory of this process."""
    index_of(device)
    return _of_the_process("VmRSS")


def max_memory_allocated(device: Any = None) -> int:
    """The largest resident memory of this process since its start, or since reset_peak_memory_stats."""
    index_of(device)
    return max(_of_the_process("VmHWM"), _of_the_process("VmRSS"))


memory_reserved = memory_allocated
max_memory_reserved = max_memory_allocated


def mem_get_info(device: Any = None) -> tuple[int, int]:
    """What the machine has available and in all."""
    index_of(device)
    total = _PAGE * os.sysconf("SC_PHYS_PAGES")
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
    except OSError:
        lines = []
    available = _field(lines, "MemAvailable")
    return (available or _PAGE * os.sysconf("SC_AVPHYS_PAGES")), total


def reset_peak_memory_stats(device: Any = None) -> None:
    """Let the largest figure begin at the present one; where the system refuses, it stays."""
    index_of(device)
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        pass


def reset_accumulated_memory_stats(device: Any = None) -> None:
    """Nothing is accumulated."""
    index_of(device)


def empty_cache() -> None:
    """The system's allocator decides what it keeps."""


def memory_stats_as_nested_dict(device: Any = None) -> dict[str, Any]:
    """The figures under the allocator's names. What only an allocator could count is 0."""
    now, peak = memory_allocated(device), max_memory_allocated(device)
    counted = {"current": now, "peak": peak, "allocated": 0, "freed": 0}
    nothing = dict.fromkeys(counted, 0)
    stats: dict[str, Any] = {name: _pools(counted) for name in _COUNTED}
    stats.update({name: _pools(nothing) for name in _NOT_COUNTED})
    stats.update(dict.fromkeys(_TOTALS, 0))
    stats.update(oversize_allocations=dict(nothing), oversize_segments=dict(nothing), max_split_size=-1)
    return stats


def memory_stats(device: Any = None) -> dict[str, Any]:
    """The same, flat: "allocated_bytes.all.current"."""
    return dict(sorted(_flat("", memory_stats_as_nested_dict(device)).items()))


def _pools(figures: dict[str, int]) -> dict[str, dict[str, int]]:
    return {"all": dict(figures), "large_pool": dict(figures), "small_pool": dict.fromkeys(figures, 0)}


def _flat(prefix: str, nested: dict[str, Any]) -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for name, value in nested.items():
        path = f"{prefix}{name}"
        flat.update(_flat(f"{path}.", value) if isinstance(value, dict) else {path: value})
    return flat


def _of_the_process(field: str) -> int:
    try:
        return _field(_STATUS.read_text().splitlines(), field) or 0
    except OSError:
        import resource

        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def _field(lines: list[str], name: str) -> int | None:
    """A line such as "VmRSS:  1234 kB", in bytes."""
    matches = (line.split() for line in lines if line.startswith(f"{name}:"))
    return next((int(words[1]) * 1024 for words in matches), None)
