"""Raw allocations, shares, pinned memory, and pools that belong to a thread."""

from __future__ import annotations

import collections
import contextlib
import sys
from collections.abc import Iterator
from typing import Any

from typing_extensions import deprecated

from ... import _MUSAC
from ...core import memory
from ...core._lazy_init import _lazy_init, is_initialized
from ...core._utils import DeviceUnion, _get_musa_device_index
from ...core.device import Device, current_device
from ...core.stream import Stream, current_stream


def caching_allocator_alloc(size: int, device: DeviceUnion = None, stream: Any = None) -> int:
    """The address of `size` bytes of the allocator, for use on `stream`: an object, or its number."""
    index = _index(device)
    stream = current_stream(index) if stream is None else stream
    stream = stream.musa_stream if isinstance(stream, Stream) else stream
    if not isinstance(stream, int):
        raise TypeError(
            "Invalid type for stream argument, must be `torch_musa.Stream` or `int` representing a pointer to a existing stream"
        )
    with Device(index):
        return int(_MUSAC._musa_musaCachingAllocator_raw_alloc(size, stream))


def caching_allocator_delete(mem_ptr: int) -> None:
    """Give back what caching_allocator_alloc() has returned."""
    _MUSAC._musa_musaCachingAllocator_raw_delete(mem_ptr)


def caching_allocator_enable(value: bool = True) -> None:
    """Without the cache, memory comes from the driver and goes back at once. Before initialisation this does nothing."""
    if is_initialized():
        _MUSAC._musa_musaCachingAllocator_enable(value)


def get_per_process_memory_fraction(device: DeviceUnion = None) -> float:
    """The fraction of the memory of `device` that this process may use."""
    _lazy_init()
    return float(_MUSAC._musa_getMemoryFraction(_index(device)))


def host_memory_stats() -> dict[str, Any]:
    """All counters of the allocator of pinned memory, flat. Empty before initialisation."""
    flat = {}
    for key, value in host_memory_stats_as_nested_dict().items():
        inner = value.items() if isinstance(value, dict) else [("", value)]
        flat.update({f"{key}.{name}" if name else key: number for name, number in inner})
    return collections.OrderedDict(sorted(flat.items()))


def host_memory_stats_as_nested_dict() -> dict[str, Any]:
    """host_memory_stats() as dictionaries in a dictionary."""
    return dict(_MUSAC._musa_hostMemoryStats()) if is_initialized() else {}


def reset_accumulated_host_memory_stats() -> None:
    """Reset the counters of allocated and freed pinned memory."""
    _MUSAC._musa_resetAccumulatedHostMemoryStats()


def reset_peak_host_memory_stats() -> None:
    """Reset the peaks of pinned memory to the current use."""
    _MUSAC._musa_resetPeakHostMemoryStats()


@deprecated("`torch.musa.memory_cached` has been renamed to `torch.musa.memory_reserved`", category=FutureWarning)
def memory_cached(device: DeviceUnion = None) -> int:
    """Old name of memory_reserved."""
    return memory.memory_reserved(device)


@deprecated(
    "`torch.musa.max_memory_cached` has been renamed to `torch.musa.max_memory_reserved`", category=FutureWarning
)
def max_memory_cached(device: DeviceUnion = None) -> int:
    """Old name of max_memory_reserved."""
    return memory.max_memory_reserved(device)


def list_gpu_processes(device: DeviceUnion = None) -> str:
    """What mthreads-gmi says of `device`."""
    import shutil

    index = _get_musa_device_index(device, optional=True)
    tool = shutil.which("mthreads-gmi")
    if tool is None:
        return "mthreads-gmi not found, please install mthreads-gmi"
    for command in ([tool, "--id", str(index)], [tool]):
        printed = _printed(command)
        if printed is not None:
            return printed
    return "musa driver can't be loaded, is musa enabled?"


def _printed(command: list[str]) -> str | None:
    import subprocess

    try:
        return subprocess.check_output(command, stderr=subprocess.STDOUT, text=True).strip()
    except (subprocess.CalledProcessError, FileNotFoundError):
        return None


def _index(device: DeviceUnion) -> int:
    return current_device() if device is None else _get_musa_device_index(device)


def _snapshot(device: DeviceUnion = None) -> dict[str, Any]:
    return dict(_MUSAC._musa_memorySnapshot(None))


def memory_snapshot(mempool_id: Any = None) -> Any:
    """Every segment, or every one of a pool, and the blocks in it."""
    return _MUSAC._musa_memorySnapshot(mempool_id)["segments"]


def _record_memory_history_legacy(
    enabled: bool,
    record_context: bool = True,
    trace_alloc_max_entries: int = 1,
    trace_alloc_record_context: bool = False,
    device: DeviceUnion = None,
    record_context_cpp: bool = False,
    clear_history: bool = False,
    compile_context: bool = False,
    global_record_annotations: bool = False,
) -> None:
    context = (record_context, trace_alloc_max_entries, trace_alloc_record_context, record_context_cpp)
    extra = (clear_history, compile_context, global_record_annotations)
    _MUSAC._musa_record_memory_history_legacy(enabled, *context, *extra)


def _record_memory_history_impl(
    enabled: str | None = "all",
    context: str | None = "all",
    stacks: str = "all",
    max_entries: int = sys.maxsize,
    device: DeviceUnion = None,
    clear_history: bool = False,
    compile_context: bool = False,
    global_record_annotations: bool = False,
) -> None:
    extra = (clear_history, compile_context, global_record_annotations)
    _MUSAC._musa_record_memory_history(enabled, context, stacks, max_entries, *extra)


class MemPool:
    """The methods of core.memory.MemPool."""

    def __init__(self, allocator: Any = None, use_on_oom: bool = False) -> None:
        _MUSAC._MemPool.__init__(self, allocator, True, use_on_oom)

    def use_count(self) -> int:
        """How many users the pool has: itself, and each block of use_mem_pool() that it is in."""
        return int(_MUSAC._MemPool.use_count(self))

    def snapshot(self) -> Any:
        """The segments of this pool, on all devices."""
        return memory.memory_snapshot(self.id)  # type: ignore[attr-defined, call-arg]


@contextlib.contextmanager
def use_mem_pool(pool: Any, device: DeviceUnion = None) -> Iterator[None]:
    """What this thread allocates inside the block comes from `pool`."""
    index = _index(device)
    _MUSAC._musa_beginAllocateCurrentThreadToPool(index, pool.id)
    try:
        yield
    finally:
        _MUSAC._musa_endAllocateToPool(index, pool.id)
        _MUSAC._musa_releasePool(index, pool.id)
