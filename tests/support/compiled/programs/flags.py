"""torch.backends, graphs, memory pools, profilers, communication within a process."""

from __future__ import annotations

from typing import Any

import torch
import torch.cuda.comm
import torch.cuda.nccl
import torch.cuda.nvtx

from support.compiled.program import Programs

PROGRAMS = Programs()
_BACKENDS: Any = torch.backends
C: Any = torch._C


@PROGRAMS.add("torch._C._get_cublas_allow_tf32", native=False)
def tf32(x: torch.Tensor) -> Any:
    return (x * 2 if _BACKENDS.cuda.matmul.allow_tf32 else x * 3), _BACKENDS.cuda.matmul.allow_tf32


@PROGRAMS.add("torch._C._set_cublas_allow_tf32", native=False)
def set_tf32(x: torch.Tensor) -> Any:
    before = _BACKENDS.cuda.matmul.allow_tf32
    _BACKENDS.cuda.matmul.allow_tf32 = False
    off = _BACKENDS.cuda.matmul.allow_tf32
    _BACKENDS.cuda.matmul.allow_tf32 = before
    return off, _BACKENDS.cuda.matmul.allow_tf32, x + 1


@PROGRAMS.add("torch._C._get_float32_matmul_precision", "torch._C._set_float32_matmul_precision", native=False)
def precision(x: torch.Tensor) -> Any:
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("medium")
    inner = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision(before)
    return before, inner, x + 1


@PROGRAMS.add("torch.backends.cudnn.CudnnModule.allow_tf32", "torch._C._set_cudnn_allow_tf32", native=False)
def convolution_tf32(x: torch.Tensor) -> Any:
    before = _BACKENDS.cudnn.allow_tf32
    with _BACKENDS.cudnn.flags(allow_tf32=False):
        inner = _BACKENDS.cudnn.allow_tf32
    return before, inner, _BACKENDS.cudnn.allow_tf32, x + 1


@PROGRAMS.add("torch._C._set_fp32_precision_setter", native=False)
def newer_precision(x: torch.Tensor) -> Any:
    before = _BACKENDS.cuda.matmul.fp32_precision
    _BACKENDS.cuda.matmul.fp32_precision = "ieee"
    inner = _BACKENDS.cuda.matmul.fp32_precision
    _BACKENDS.cuda.matmul.fp32_precision = before
    return inner, before, x + 1


@PROGRAMS.add(
    "torch._cufft_get_plan_cache_size",
    "torch._cufft_get_plan_cache_max_size",
    "torch._cufft_set_plan_cache_max_size",
    "torch._cufft_clear_plan_cache",
    "torch.backends.cuda.cuFFTPlanCache.size",
    "torch.backends.cuda.cuFFTPlanCache.max_size",
    native=False,
)
def plans(x: torch.Tensor) -> Any:
    cache = _BACKENDS.cuda.cufft_plan_cache[1]
    cache.max_size = 10
    cache.clear()
    kept = cache.max_size, cache.size
    cache.max_size = 4096
    return kept, cache.max_size, x + 1


@PROGRAMS.add(
    "torch._C._can_use_flash_attention",
    "torch._C._can_use_mem_efficient_attention",
    "torch._C._can_use_cudnn_attention",
    native=False,
)
def attention_kernels(x: torch.Tensor) -> Any:
    q = x.view(1, 1, 2, 2)
    given = _BACKENDS.cuda.SDPAParams(q, q, q, None, 0.0, False, False)
    cuda = _BACKENDS.cuda
    able = (
        cuda.can_use_flash_attention(given),
        cuda.can_use_efficient_attention(given),
        cuda.can_use_cudnn_attention(given),
    )
    return able, x + 1


@PROGRAMS.add("torch._C._get_linalg_preferred_backend", "torch._C._set_linalg_preferred_backend", native=False)
def linear_algebra(x: torch.Tensor) -> Any:
    _BACKENDS.cuda.preferred_linalg_library("magma")
    chosen = str(_BACKENDS.cuda.preferred_linalg_library())
    _BACKENDS.cuda.preferred_linalg_library("default")
    return chosen, str(_BACKENDS.cuda.preferred_linalg_library()), x + 1


@PROGRAMS.add("torch._C._get_blas_preferred_backend", "torch._C._set_blas_preferred_backend", native=False)
def blas(x: torch.Tensor) -> Any:
    _BACKENDS.cuda.preferred_blas_library("cublaslt")
    chosen = str(_BACKENDS.cuda.preferred_blas_library())
    _BACKENDS.cuda.preferred_blas_library("default")
    return chosen, x + 1


@PROGRAMS.add("torch.backends.cuda.cublas_workspace_size", native=False)
def workspace(x: torch.Tensor) -> Any:
    return _BACKENDS.cuda.cublas_workspace_size(), x + 1


@PROGRAMS.add("torch.backends.cuda.cublaslt_workspace_size", native=False)
def other_workspace(x: torch.Tensor) -> Any:
    return _BACKENDS.cuda.cublaslt_workspace_size(), x + 1


@PROGRAMS.add(
    "torch_musa.musa_graph.graphs.MUSAGraph.__new__",
    "torch_musa.musa_graph.graphs.MUSAGraph.__init__",
    "torch_musa.musa_graph.graphs.MUSAGraph.capture_begin",
    "torch_musa.musa_graph.graphs.MUSAGraph.capture_end",
    "torch_musa.musa_graph.graphs.MUSAGraph.reset",
    "torch._C._host_emptyCache",
    "torch._C._CUDAGraph",
    native=False,
)
def graph(x: torch.Tensor) -> Any:
    recorded = torch.cuda.CUDAGraph()
    with torch.cuda.graph(recorded):
        y = x * 2
    x += 1
    recorded.replay()
    result = y.clone()
    recorded.reset()
    return result


@PROGRAMS.add("torch_musa.musa_graph.graphs.MUSAGraph.instantiate", native=False)
def kept_graph(x: torch.Tensor) -> Any:
    recorded = torch.cuda.CUDAGraph(keep_graph=True)
    with torch.cuda.graph(recorded):
        y = x * 2
    recorded.instantiate()
    recorded.replay()
    return y.clone()


@PROGRAMS.add("torch_musa.musa_graph.graphs.MUSAGraph.raw_cuda_graph", native=False)
def raw_graph(x: torch.Tensor) -> Any:
    return torch.cuda.CUDAGraph().raw_cuda_graph(), x + 1


@PROGRAMS.add("torch_musa.musa_graph.graphs.MUSAGraph.raw_cuda_graph_exec", native=False)
def raw_executable(x: torch.Tensor) -> Any:
    return torch.cuda.CUDAGraph().raw_cuda_graph_exec(), x + 1


@PROGRAMS.add("torch_musa.musa_graph.graphs.MUSAGraph.get_graph_data", native=False)
def graph_data(x: torch.Tensor) -> Any:
    return torch.cuda.CUDAGraph().get_graph_data(), x + 1


@PROGRAMS.add(
    "torch_musa.core.memory.MemPool.__init__",
    "torch_musa.core.memory.MemPool.snapshot",
    "torch._C._MemPool",
    native=False,
)
def pool(x: torch.Tensor) -> Any:
    own = torch.cuda.MemPool()
    with torch.cuda.use_mem_pool(own):
        y = x + 1
    return isinstance(own.snapshot(), list), y


@PROGRAMS.add("torch_musa.core.memory.MemPool.use_count", native=False)
def uses_of_a_pool(x: torch.Tensor) -> Any:
    return torch.cuda.MemPool().use_count(), x + 1


@PROGRAMS.add("torch._C._cuda_memorySnapshot", native=False)
def snapshot(x: torch.Tensor) -> Any:
    return sorted(torch.cuda.memory._snapshot())[:2], x + 1


@PROGRAMS.add("torch._C._cuda_record_memory_history", native=False)
def history(x: torch.Tensor) -> Any:
    torch.cuda.memory._record_memory_history()
    y = x + 1
    torch.cuda.memory._record_memory_history(enabled=None)
    return y


@PROGRAMS.add("torch._C._cuda_record_memory_history_legacy", native=False)
def older_history(x: torch.Tensor) -> Any:
    torch.cuda.memory._record_memory_history(True)
    y = x + 1
    torch.cuda.memory._record_memory_history(False)
    return y


@PROGRAMS.add("torch.cuda.nvtx._nvtx", native=False)
def ranges(x: torch.Tensor) -> Any:
    depth = torch.cuda.nvtx.range_push("range")
    torch.cuda.nvtx.mark("mark")
    with torch.cuda.nvtx.range("inner"):
        y = x + 1
    handle = torch.cuda.nvtx.range_start("other")
    torch.cuda.nvtx.range_end(handle)
    return depth, torch.cuda.nvtx.range_pop(), y


@PROGRAMS.add("torch.autograd.profiler.emit_nvtx.__enter__", "torch.autograd.profiler.emit_nvtx.__exit__", native=False)
def emit_nvtx(x: torch.Tensor) -> Any:
    with torch.autograd.profiler.emit_nvtx():
        return x + 1


@PROGRAMS.add("torch._C._broadcast", "torch._C._gather", "torch._C._scatter", native=False)
def communication(x: torch.Tensor) -> Any:
    sent = C._broadcast(x, [0, 1]), C._scatter(x, [0, 1], None, 0, None)
    return sent, C._gather([x, x.to("cuda:1")], 0, 0)


@PROGRAMS.add(native=False)
def communication_by_public_names(x: torch.Tensor) -> Any:
    comm = torch.cuda.comm
    sent = comm.broadcast(x, [0, 1]), comm.scatter(x, [0, 1])
    return sent, comm.gather([x, x.to("cuda:1")], destination=0)


@PROGRAMS.add("torch._C._broadcast_coalesced", native=False)
def coalesced(x: torch.Tensor) -> Any:
    return C._broadcast_coalesced([x, x * 2], [0, 1], 1024)


@PROGRAMS.add("torch._C._broadcast_out", "torch._C._scatter_out", "torch._C._gather_out", native=False)
def communication_into(x: torch.Tensor) -> Any:
    out = torch.zeros(4, device="cuda:1")
    C._broadcast_out(x, [out])
    parts = [torch.zeros(2, device="cuda"), torch.zeros(2, device="cuda:1")]
    C._scatter_out(x, parts, 0, None)
    return out, parts, C._gather_out(parts, torch.zeros(4, device="cuda"), 0)


@PROGRAMS.add("torch._C._nccl_all_reduce", "torch._C._nccl_broadcast", "torch._C._nccl_reduce", native=False)
def collectives(x: torch.Tensor) -> Any:
    parts = [x.clone(), x.to("cuda:1") * 3]
    torch.cuda.nccl.all_reduce(parts)
    summed = [part.clone() for part in parts]
    torch.cuda.nccl.broadcast([x, parts[1]])
    torch.cuda.nccl.reduce([x, summed[1]])
    return summed, parts


@PROGRAMS.add("torch._C._nccl_all_gather", "torch._C._nccl_reduce_scatter", native=False)
def gathering(x: torch.Tensor) -> Any:
    parts = [x.clone(), x.to("cuda:1")]
    out = [x.repeat(2), parts[1].repeat(2)]
    torch.cuda.nccl.all_gather(parts, out)
    small = [x[:2].clone(), parts[1][:2].clone()]
    torch.cuda.nccl.reduce_scatter(parts, small)
    return out, small


@PROGRAMS.add("torch._C._nccl_version", "torch._C._nccl_version_suffix", native=False)
def nccl_version(x: torch.Tensor) -> Any:
    return torch.cuda.nccl.version(), x + 1


@PROGRAMS.add("torch._C._nccl_unique_id", native=False)
def unique_id(x: torch.Tensor) -> Any:
    return torch.cuda.nccl.unique_id(), x + 1


@PROGRAMS.add(
    "torch.profiler.profiler._KinetoProfile.__init__",
    "torch.autograd._supported_activities",
    native=False,
)
def profiler(x: torch.Tensor) -> Any:
    supported = torch.profiler.supported_activities()
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]):
        y = x + 1
    return torch.profiler.ProfilerActivity.CUDA in supported, y


@PROGRAMS.add("torch.autograd.profiler.profile.__init__", native=False)
def autograd_profiler(x: torch.Tensor) -> Any:
    with torch.autograd.profiler.profile(use_device="cuda"):
        return x + 1


@PROGRAMS.add()
def branch_on_device(x: torch.Tensor) -> Any:
    return x * 2 if x.is_cuda and not x.cpu().is_cuda else x * 3


@PROGRAMS.add("torch.nn.attention.flex_attention._validate_device", native=False)
def flex_attention(x: torch.Tensor) -> Any:
    from torch.nn.attention import flex_attention as flex

    q = x.repeat(64).view(1, 1, 16, 16)
    return flex.flex_attention(q, q, q)[0, 0, 0]


@PROGRAMS.add(native=False)
def flash_attention(x: torch.Tensor) -> Any:
    q, lengths = x.repeat(4).view(2, 1, 8).half(), torch.tensor([0, 2], dtype=torch.int32, device="cuda")
    return torch.ops.aten._flash_attention_forward(q, q, q, lengths, lengths, 2, 2, 0.0, True, False)[:2]
