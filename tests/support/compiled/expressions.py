"""Programs of one expression: names of torch.cuda, of torch._C, and every function that makes a tensor."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from scripts.compatibility.samples import SAMPLES

from support.compiled import schemas
from support.compiled.program import Program, expression
from support.interpreter import TORCH

# Called without arguments.
_ASKED = (
    "_is_in_bad_fork _lazy_init current_blas_handle current_device current_stream default_stream device_count empty_cache "
    "get_allocator_backend get_arch_list get_device_capability get_device_name get_gencode_flags get_rng_state "
    "get_rng_state_all get_sync_debug_mode graph_pool_handle initial_seed ipc_collect is_bf16_supported "
    "is_current_stream_capturing is_initialized is_tf32_supported max_memory_allocated max_memory_reserved mem_get_info "
    "memory_allocated memory_reserved memory_stats memory_stats_as_nested_dict memory_summary "
    "reset_accumulated_memory_stats reset_peak_memory_stats seed "
    "seed_all synchronize _check_capability _check_cubins _parse_visible_devices _raw_device_count_nvml "
    "_raw_device_uuid_nvml current_solver_handle device_memory_used get_per_process_memory_fraction host_memory_stats "
    "host_memory_stats_as_nested_dict list_gpu_processes reset_accumulated_host_memory_stats reset_peak_host_memory_stats "
    "get_device_properties cudart _get_pynvml_handler memory._get_current_allocator memory._host_allocator "
    "memory._get_memory_metadata profiler.start profiler.stop _utils._get_nvrtc_library tunable.get_filename "
    "tunable.get_max_tuning_duration tunable.get_max_tuning_iterations tunable.get_results tunable.get_rotating_buffer_size "
    "tunable.get_validators tunable.is_enabled tunable.read_file tunable.record_untuned_is_enabled "
    "tunable.tuning_is_enabled "
)
_TYPES = ["BFloat16", "Bool", "Byte", "Char", "Double", "Float", "Half", "Int", "Long", "Short"]
_WITH_ARGUMENTS = {
    "torch.cuda.caching_allocator_enable": "f()",
    "torch.cuda.set_device": "(f(1), torch.cuda.current_device(), torch.zeros(1, device='cuda'))",
    "torch.cuda.set_stream": "f(torch.cuda.Stream())",
    "torch.cuda.stream": "within(f(torch.cuda.Stream()), x + 1)",
    "torch.cuda.StreamContext": "within(f(torch.cuda.Stream()), x + 1)",
    "torch.cuda._set_stream_by_id": "f(0, 0, 20)",
    "torch.cuda.set_rng_state": "(f(torch.cuda.get_rng_state()), torch.rand(1, device='cuda'))",
    "torch.cuda.set_rng_state_all": "(f(torch.cuda.get_rng_state_all()), torch.rand(1, device='cuda'))",
    "torch.cuda.manual_seed": "(f(3), torch.rand(2, device='cuda'))",
    "torch.cuda.manual_seed_all": "(f(3), torch.rand(2, device='cuda'))",
    "torch.cuda.ExternalStream": "f(torch.cuda.Stream().cuda_stream)",
    "torch.cuda.MemPool": "f()",
    "torch.cuda.use_mem_pool": "within(f(torch.cuda.MemPool()), x + 1)",
    "torch.cuda.tunable.enable": "f(False)",
    "torch.cuda.tunable.tuning_enable": "f(False)",
    "torch.cuda.tunable.record_untuned_enable": "f(True)",
    "torch.cuda.memory._CUDAAllocator": "f(None)",
    **{f"torch.cuda.{kind}Tensor": "(f(2).fill_(1), f([1, 0]), isinstance(f, type))" for kind in _TYPES},
    "torch.cuda.CudaError": "issubclass(f, RuntimeError)",
    "torch.cuda.DeferredCudaCallError": "issubclass(f, Exception)",
    # torch._C
    "torch._C._cuda_getDevice": "f()",
    "torch._C._cuda_setDevice": "(f(1), torch.cuda.current_device())",
    "torch._C._cuda_exchangeDevice": "f(1)",
    "torch._C._cuda_getCurrentStream": "f(0)",
    "torch._C._cuda_getCurrentRawStream": "f(0)",
    "torch._C._cuda_getDefaultStream": "f(0)",
    "torch._C._cuda_setStream": "f(0, 0, 20)",
    "torch._C._cuda_canDeviceAccessPeer": "f(0, 1)",
    "torch._C._cuda_synchronize": "f()",
    "torch._C._cuda_getArchFlags": "f()",
    "torch._C._cuda_getCurrentBlasHandle": "f()",
    "torch._C._cuda_getCurrentBlasLtHandle": "f()",
    "torch._C._cuda_clearCublasWorkspaces": "f()",
    "torch._C._cuda_isCurrentStreamCapturing": "f()",
    "torch._C._cuda_getAllocatorBackend": "f()",
    "torch._C._cuda_getAllocator": "f()",
    "torch._C._cuda_memoryStats": "f(0)",
    "torch._C._cuda_resetPeakMemoryStats": "f(0)",
    "torch._C._cuda_resetAccumulatedMemoryStats": "f(0)",
    "torch._C._cuda_emptyCache": "f()",
    "torch._C._cuda_setMemoryFraction": "f(1.0, 0)",
    "torch._C._cuda_isHistoryEnabled": "f()",
    "torch._C._cuda_ipc_collect": "f()",
    "torch._C._is_cuda": "f(x)",
    "torch._C._cuda": "f(x)",
    "torch._C._empty_strided_cuda": "f((2, 2), (2, 1), torch.float32).fill_(1)",
    "torch._C._CudaStreamBase": "f()",
    "torch._C._CudaEventBase": "f()",
}
_UP_TO_2_14 = {"torch.cuda._graph_annotations.enable_annotations": "f()"}
_FROM_2_15 = {
    "torch.cuda._graph_annotations._set_annotations_enabled": "f(True)",
    "torch.cuda.export_dot": "f('graph.dot')",
    "torch.cuda.tunable.dynamic_dims_mask": "within(f(M=True))",
    "torch.cuda.tunable.get_cublaslt_requested_algo_count": "f()",
    "torch.cuda.tunable.set_cublaslt_requested_algo_count": "f(1)",
    "torch.cuda.tunable.wildcard_fallback_enable": "f(False)",
    "torch.cuda.tunable.wildcard_fallback_is_enabled": "f()",
}
_DIFFERS = {
    "torch._assert_tensor_metadata": "torch's own check of fake tensors tells a device without an index from the first",
    "torch._pin_memory": "torch's fake tensors know no such operator",
    "torch._resize_output_": "torch's fake tensors know no such operator",
}
# torch_musa refuses to_dense(), so the values of sparse tensors are not seen; its error of pinned memory names a type of its own.
_NOT_COMPARED = ("torch.sparse_", "torch._pin_memory")
# Different at each call: amounts of memory, seeds, addresses, handles.
_VOLATILE = re.compile(
    "mem|seed|rng|handle|processes|address|raw|Stream|_cuda_sleep|alloc|uuid|empty|Storage|_CUDAAllocator",
    re.IGNORECASE,
)
# Samples of names without a patch: they are torch's own Python, or programs here use what they consist of.
_UNPATCHED = re.compile(
    r"Complex|_DeviceGuard|_POOL_HANDLE|_check_bf16|_code_compatible|_dummy|_extract|_get_device$|_get_generator|_get_nvml|_lazy_new"
    r"|_memory_viz|_pin_memory_utils|_sanitizer|_state_offset|_transform|_check_cuda|_warn_unsupported|cuda\.amp\.|\.comm\."
    r"|custom_|\w+Storage$|cuda\.device$|device_of|\.graph$|jiterator|make_graphed|_record_memory|nccl|nvtx|profiler\.profile|sparse\.Bool"
    r"|tunable\._|write_file|profiler\.init"
)
# torch_musa has no such name, or one with other arguments.
_OTHERWISE_IN_MUSA = re.compile(
    r"tunable|jiterator|export_dot|gds|reen|host_|_host|_utils\._|amdsmi|nvml|uuid|pynvml|_check_c|annotations|profiler|get_sync|set_sync"
    r"|_uvm|metadata|traceback|get_per_process|list_gpu|device_memory_used|gencode|visible|get_device_properties|solver"
    r"|caching_allocator|_sleep|enable_|get_arch_list|ipc_collect|sparse\.|_compile_kernel|_get_device_index|from_external|check_error|Error$"
)


def made(spelling: str, covered: frozenset[str]) -> Iterator[Program]:
    """Programs for everything that is not in `covered`; the engine knows which of them a patch concerns."""
    for name, text in sorted(_expressions().items()):
        if name not in covered:
            options: dict[str, Any] = {
                "volatile": bool(_VOLATILE.search(name)),
                "native": not _OTHERWISE_IN_MUSA.search(name),
            }
            yield expression(name, text, spelling, (name,), **options)
    for name, place, text in schemas.calls():
        if name not in covered:
            options = {
                "volatile": schemas.is_uninitialised(name),
                "differs": _DIFFERS.get(name, ""),
                "native": not name.startswith(_NOT_COMPARED),
            }
            yield expression(name, text, spelling, (name, place), **options)


def _expressions() -> dict[str, str]:
    samples = {name: text for name, text in SAMPLES.items() if not _UNPATCHED.search(name)}
    found = {name: text if isinstance(text, str) else text[0] for name, text in samples.items()}
    found |= {f"torch.cuda.{name}": "f()" for name in _ASKED.split()} | _WITH_ARGUMENTS
    found |= _FROM_2_15 if TORCH >= (2, 15) else _UP_TO_2_14
    # "cuda" is a global name where the samples are used otherwise.
    found = {name: re.sub(r"(?<![.\w])cuda\.", "torch.cuda.", text) for name, text in found.items()}
    return {name: re.sub(r"\bf(?=[(,)])", name, text) for name, text in found.items()}
