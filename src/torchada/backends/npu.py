"""Huawei's Ascend NPUs through torch_npu. Names are those of its public sources of August 2026; it was not run on hardware."""

from __future__ import annotations

from torchada.backends.descriptor import Allocator, Backend, Collectives, CollectiveVariables, Graphs, Names, Native

_NAMES = Names(
    renames={
        "CUDAGraph": "NPUGraph",
        "CUDAPluggableAllocator": "NPUPluggableAllocator",
        "DeferredCudaCallError": "_DeferredNpuCallError",
        "cudart": "npurt",
    },
)

# The process group reads these; the library's own variables (HCCL_CONNECT_TIMEOUT, HCCL_BUFFSIZE) have other units than NCCL's.
_COLLECTIVE_VARIABLES = CollectiveVariables(
    prefixes={"TORCH_NCCL_": "TORCH_HCCL_"},
    known={"TORCH_NCCL_": frozenset(("ASYNC_ERROR_HANDLING", "BLOCKING_WAIT", "DESYNC_DEBUG"))},
)

_ALLOCATOR = Allocator(
    name="torch_npu",
    variable="PYTORCH_NPU_ALLOC_CONF",
    options={
        "base_addr_aligned_kb": (),
        "expandable_segments": (),
        "garbage_collection_threshold": (),
        "large_segment_size_mb": (),
        "max_non_split_rounding_mb": (),
        "max_split_size_mb": (),
        "multi_stream_lazy_reclaim": (),
        "page_size": (),
        "per_process_memory_fraction": (),
        "pin_memory_expandable_segments": (),
        "pinned_max_cached_size_mb": (),
        "pinned_max_round_threshold_mb": (),
        "pinned_mem_register": (),
        "pinned_use_background_threads": (),
        "release_lock_on_npumalloc": (),
        "roundup_power2_divisions": (),
        "segment_size_mb": (),
        "throw_on_npumalloc_oom": (),
    },
    renames={
        "pinned_use_cuda_host_register": "pinned_mem_register",
        "release_lock_on_cudamalloc": "release_lock_on_npumalloc",
        "throw_on_cudamalloc_oom": "throw_on_npumalloc_oom",
    },
)

NPU = Backend(
    name="npu",
    device_type="npu",
    adapter="torch_npu",
    namespace="npu",
    visible_devices="ASCEND_RT_VISIBLE_DEVICES",
    names=_NAMES,
    native=Native(module="torch_npu._C", spellings={"npu": "cuda", "Npu": "Cuda", "NPU": "Cuda", "Hccl": "Nccl"}),
    collectives=Collectives(names={"nccl": "hccl"}, variables=_COLLECTIVE_VARIABLES),
    graphs=Graphs(),
    allocator=_ALLOCATOR,
    simulator="musasim",
)
