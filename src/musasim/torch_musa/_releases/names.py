"""Names and signatures that a release of torch_musa has changed, by the module or, after a colon, the class that they belong to.

By the sources of 2.9.1.post1 and 2.11.0.post2. An empty path is the package itself, torch.musa. What _MUSAC has is in
musasim.native_names.
"""

from __future__ import annotations

Names = dict[str, tuple[str, ...]]

#: New, or with other arguments. A new public name of `core` is shown by torch.musa as well.
CHANGED: dict[str, Names] = {
    "2.9.1": {
        "core.memory": (
            "_record_memory_history_impl",
            "_record_memory_history_legacy",
            "_snapshot",
            "caching_allocator_alloc",
            "caching_allocator_delete",
            "caching_allocator_enable",
            "get_per_process_memory_fraction",
            "host_memory_stats",
            "host_memory_stats_as_nested_dict",
            "list_gpu_processes",
            "max_memory_cached",
            "memory_cached",
            "memory_snapshot",
            "reset_accumulated_host_memory_stats",
            "reset_peak_host_memory_stats",
            "use_mem_pool",
        ),
        "core.memory:MemPool": ("__init__", "snapshot", "use_count"),
        "core.module_attrs": ("_lazy_to", "set_module_attributes"),
        "core.stream": ("get_stream_from_external",),
        "core.stream:Event": ("__new__", "record", "wait"),
        "core.tensor_attrs": ("_lazy_musa", "_lazy_to", "set_torch_attributes"),
        "musa_graph.graphs": ("graph_pool_handle", "make_graphed_callables", "update_musa_graph_with_profile"),
        "musa_graph.graphs:MUSAGraph": (
            "__new__",
            "capture_end",
            "instantiate",
            "raw_musa_graph",
            "raw_musa_graph_exec",
            "reset",
        ),
        "musa_graph.graphs:graph": ("__enter__",),
        "": ("NewType", "_POOL_HANDLE", "use_unified_allocator"),
    },
    "2.11.0": {
        "core.amp.common": ("get_amp_supported_dtype",),
        "core.device": (
            "get_device_properties",
            "get_gencode_flags",
            "get_sync_debug_mode",
            "set_sync_debug_mode",
        ),
        "core.memory": (
            "_get_memory_metadata",
            "_record_memory_history_impl",
            "_record_memory_history_legacy",
            "_set_memory_metadata",
            "memory_snapshot",
        ),
        "core.memory:MemPool": ("__init__", "snapshot"),
        "": ("AcceleratorError", "_lazy_init_mod", "ipc"),
    },
}

#: No longer there.
REMOVED: dict[str, Names] = {
    "2.9.1": {"": ("_dump_snapshot", "_record_memory_history", "_set_allocator_settings", "memory_stats_all")},
    "2.11.0": {
        "": ("MemPoolContext",),
        "core.memory": ("MemPoolContext", "_MemPoolContext", "_dump_snapshot"),
        "core.memory:MemPool": ("allocator",),
    },
}
