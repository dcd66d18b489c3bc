"""What releases of torch_musa after 2.7.1 have changed in its native part, `_MUSAC`.

The compiled part has the names of all releases. Those that the chosen one lacks are taken away before anybody sees them.
"""

from __future__ import annotations

from typing import Any

from musasim.base import release

#: New functions, classes, and members of classes, as Module.cpp of 2.9.1.post1 and 2.11.0.post2 has them.
ADDED = {
    "2.9.1": (
        "_get_musa_unified_allocator",
        "_host_emptyCache",
        "_musa_beginAllocateCurrentThreadToPool",
        "_musa_endAllocateToPool",
        "_musa_getMemoryFraction",
        "_musa_getStreamFromExternal",
        "_musa_hostMemoryStats",
        "_musa_musaCachingAllocator_enable",
        "_musa_musaCachingAllocator_raw_alloc",
        "_musa_resetAccumulatedHostMemoryStats",
        "_musa_resetPeakHostMemoryStats",
        "_MUSAGraph.instantiate",
        "_MUSAGraph.raw_musa_graph",
        "_MUSAGraph.raw_musa_graph_exec",
        "_MemPool.use_count",
    ),
    "2.11.0": (
        "_MusaDeviceProperties.L2_cache_size",
        "_MusaDeviceProperties.clock_rate",
        "_MusaDeviceProperties.gcnArchName",
        "_MusaDeviceProperties.max_threads_per_block",
        "_MusaDeviceProperties.max_threads_per_multi_processor",
        "_MusaDeviceProperties.memory_bus_width",
        "_MusaDeviceProperties.memory_clock_rate",
        "_MusaDeviceProperties.pci_bus_id",
        "_MusaDeviceProperties.pci_device_id",
        "_MusaDeviceProperties.pci_domain_id",
        "_MusaDeviceProperties.regs_per_multiprocessor",
        "_MusaDeviceProperties.shared_memory_per_block",
        "_MusaDeviceProperties.shared_memory_per_block_optin",
        "_MusaDeviceProperties.shared_memory_per_multiprocessor",
        "_MusaDeviceProperties.uuid",
        "_MusaDeviceProperties.warp_size",
        "_MusaUUID",
        "_musa_getMemoryMetadata",
        "_musa_get_sync_debug_mode",
        "_musa_setMemoryMetadata",
        "_musa_set_sync_debug_mode",
    ),
}
REMOVED = {"2.11.0": ("_MemPoolContext",)}
_SETTING = "_musasim_simulate"


def simulate(native: Any) -> None:
    """Tell the compiled part which release it stands for, and take away what that has not got."""
    getattr(native, _SETTING)(list(release.VERSIONS).index(release.name()))
    lacking = [*release.to_come(ADDED).values(), *release.so_far(REMOVED).values(), (_SETTING,)]
    for name in sum(lacking, ()):
        owner, _, member = name.rpartition(".")
        delattr(getattr(native, owner) if owner else native, member)
