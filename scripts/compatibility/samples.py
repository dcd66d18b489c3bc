"""How each name is used to see what it does: an expression in which `f` is the name itself.

Without an entry, what can be called without arguments is called so. An exception class beside the expression is what CUDA raises
there too; Exception itself, where that depends on the version.
"""

from __future__ import annotations

import inspect
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from scripts.compatibility.names import Name

from torchada.redirect.type_names import SCALAR_TYPES

Expression = str | tuple[str, type[Exception]]

SAMPLES: Mapping[str, Expression] = {
    # torch.cuda
    "torch.cuda._POOL_HANDLE": "f((0, 0))",
    "torch.cuda._check_bf16_tensor_supported": "f('cuda')",
    "torch.cuda._code_compatible_with_device": "f(80, 80)",
    "torch.cuda._compile_kernel": "f('', 'kernel')",
    "torch.cuda._check_stray_context": "f(0)",
    "torch.cuda._device_requirement": "f(80)",
    "torch.cuda._dummy_type": "f('Name')",
    "torch.cuda._exchange_device": "f(f(1))",
    "torch.cuda._extract_arch_version": "f('sm_80')",
    "torch.cuda._get_device": "f(1)",
    "torch.cuda._get_device_index": "f('cuda:1')",
    "torch.cuda._get_generator": "f(torch.device('cuda'))",
    "torch.cuda._get_nvml_device_index": "f(0)",
    "torch.cuda._lazy_call": "f(lambda: None)",
    "torch.cuda._lazy_new": "torch.cuda.FloatStorage(2)",
    "torch.cuda._maybe_exchange_device": "f(f(1))",
    "torch.cuda._set_rng_state_offset": "f(8)",
    "torch.cuda._sleep": "f(1000)",
    "torch.cuda._transform_uuid_to_ordinals": "f(['GPU-a'], ['GPU-a', 'GPU-b'])",
    "torch.cuda._warn_unsupported_code": "f(0, 31, [80])",
    "torch.cuda.caching_allocator_alloc": "cuda.caching_allocator_delete(f(1024))",
    "torch.cuda.caching_allocator_delete": "f(cuda.caching_allocator_alloc(1024))",
    "torch.cuda.caching_allocator_disabled": "within(f())",
    "torch.cuda.can_device_access_peer": "f(0, 1)",
    "torch.cuda.check_error": "f(0)",
    "torch.cuda.device": "within(f(1))",
    "torch.cuda.device_of": "within(f(x))",
    "torch.cuda._DeviceGuard": "within(f(1))",
    "torch.cuda.get_stream_from_external": "f(cuda.Stream().cuda_stream)",
    "torch.cuda.set_per_process_memory_fraction": "f(1.0)",
    "torch.cuda.set_sync_debug_mode": "f('warn')",
    "torch.cuda.BFloat16Storage": "f(2)",
    "torch.cuda.BoolStorage": "f(2)",
    "torch.cuda.ByteStorage": "f(2)",
    "torch.cuda.CharStorage": "f(2)",
    "torch.cuda.ComplexDoubleStorage": "f(2)",
    "torch.cuda.ComplexFloatStorage": "f(2)",
    "torch.cuda.CUDAGraph": "f()",
    "torch.cuda.CUDAPluggableAllocator": ("f('nowhere.so', 'alloc', 'free')", OSError),
    "torch.cuda.Event": "f()",
    "torch.cuda.GreenContext": "f()",
    "torch.cuda.MemPool": "f()",
    "torch.cuda.Stream": "f()",
    "torch.cuda.export_dot": "f('graph.dot')",
    "torch.cuda.export_graph_data": "f('graph.pickle')",
    "torch.cuda.graph": "f(cuda.CUDAGraph())",
    "torch.cuda.make_graphed_callables": "f(torch.nn.Linear(4, 4).cuda(), (x,))",
    # torch.cuda.amp
    "torch.cuda.amp.GradScaler": "f().scale(x)",
    "torch.cuda.amp.autocast": "within(f())",
    "torch.cuda.custom_bwd": "f(lambda *args: None)",
    "torch.cuda.custom_fwd": "f(lambda *args: None)",
    "torch.cuda.amp.autocast_mode._cast": "f(x, torch.float16)",
    # torch.cuda.comm
    "torch.cuda.comm.broadcast": "f(x, [0, 1])",
    "torch.cuda.comm.broadcast_coalesced": "f([x], [0, 1])",
    "torch.cuda.comm.gather": "f([x, x], destination=0)",
    "torch.cuda.comm.reduce_add": "f([x, x.to('cuda:1')])",
    "torch.cuda.comm.reduce_add_coalesced": "f([[x], [x.to('cuda:1')]])",
    "torch.cuda.comm.scatter": "f(x, [0, 1])",
    # torch.cuda.gds, green_contexts, jiterator
    "torch.cuda.gds.GdsFile": "f('file', 0)",
    "torch.cuda.gds._dummy_fn": ("f('name')()", RuntimeError),
    "torch.cuda.gds.gds_deregister_buffer": "f(x.untyped_storage())",
    "torch.cuda.gds.gds_register_buffer": "f(x.untyped_storage())",
    "torch.cuda.green_contexts.GreenContext": "f()",
    "torch.cuda.jiterator._create_jit_fn": "f('template <typename T> T f(T x) { return x; }')(x)",
    "torch.cuda.jiterator._create_multi_output_jit_fn": "f('template <typename T> void f(T x, T& y) { y = x; }', 1)(x)",
    "torch.cuda.green_contexts._ensure_cuda_version": "f(12000, 'too old')",
    "torch.cuda.green_contexts._get_locality_domain_count": "f(0)",
    "torch.cuda.green_contexts._is_localization_supported_nvml": ("f(0)", Exception),
    "torch.cuda.green_contexts._parse_workqueue_scope": "f('balanced')",
    # torch.cuda.graph_annotations, graphs
    "torch.cuda.graph_annotations.dump_kernel_py_stacks": ("f('stacks')", Exception),
    "torch.cuda.graph_annotations.mark_kernels": "within(f('name'))",
    "torch.cuda.graphs._dump_graph_dot": "f(cuda.CUDAGraph(), 'graph.dot')",
    "torch.cuda.graphs._get_pool_id": "f((0, 1))",
    "torch.cuda.graphs._is_mem_pool": "f(None)",
    "torch.cuda.graphs._parse_annotation_config": "f(None)",
    "torch.cuda.graphs._register_global_hook": "f(torch.nn.Module()._forward_hooks, print).remove()",
    "torch.cuda.graphs._resolve_host_fn_name": "f(0)",
    "torch.cuda.graphs._run_global_hooks": "f({}, cuda.CUDAGraph())",
    "torch.cuda.graphs._run_graph_destroy_hooks": "f(set())",
    **{
        f"torch.cuda.graphs.register_graph_{when}_hook": "f(print)"
        for when in ("capture_start", "capture_end", "instantiate", "replay_start", "replay_end", "destroy")
    },
    # torch.cuda.memory
    "torch.cuda.memory._annotate_tensor": "f(x, 'name')",
    "torch.cuda.memory._recurse_add_to_result": "f([], '', {}, str)",
    "torch.cuda.memory._allocation_traceback": "f(0)",
    "torch.cuda.memory._record_memory_history": "(f(), f(enabled=None))",
    "torch.cuda.memory._record_memory_history_impl": "(f(), f(enabled=None))",
    "torch.cuda.memory._record_memory_history_legacy": "(f(True), f(False))",
    "torch.cuda.memory._set_allocator_settings": "f('max_split_size_mb:100')",
    "torch.cuda.memory._set_memory_metadata": "f('{}')",
    "torch.cuda.memory._use_uvm": "within(f())",
    "torch.cuda.memory.change_current_allocator": ("f(None)", Exception),
    "torch.cuda.memory.use_mem_pool": "within(f(cuda.MemPool()))",
    # torch.cuda.nccl
    "torch.cuda.nccl._check_sequence_type": "f([x])",
    "torch.cuda.nccl.all_gather": "f([x, x.to('cuda:1')], [x.repeat(2), x.repeat(2).to('cuda:1')])",
    "torch.cuda.nccl.all_reduce": "f([x, x.to('cuda:1')])",
    "torch.cuda.nccl.broadcast": "f([x, x.to('cuda:1')])",
    "torch.cuda.nccl.init_rank": "f(1, b'', 0)",
    "torch.cuda.nccl.is_available": "f([x])",
    "torch.cuda.nccl.reduce": "f([x, x.to('cuda:1')])",
    "torch.cuda.nccl.reduce_scatter": "f([x, x.to('cuda:1')], [x[:2], x[:2].to('cuda:1')])",
    # torch.cuda.nvtx
    "torch.cuda.nvtx._device_range_end": "f(cuda.nvtx._device_range_start('range'))",
    "torch.cuda.nvtx._device_range_start": "cuda.nvtx._device_range_end(f('range'))",
    "torch.cuda.nvtx.mark": "f('mark')",
    "torch.cuda.nvtx.range": "within(f('range'))",
    "torch.cuda.nvtx.range_end": "f(cuda.nvtx.range_start('range'))",
    "torch.cuda.nvtx.range_pop": "(cuda.nvtx.range_push('range'), f())",
    "torch.cuda.nvtx.range_push": "(f('range'), cuda.nvtx.range_pop())",
    "torch.cuda.nvtx.range_start": "cuda.nvtx.range_end(f('range'))",
    # torch.cuda.profiler
    "torch.cuda.profiler.init": "f('output')",
    "torch.cuda.profiler.profile": "within(f())",
    # torch.cuda.random
    "torch.cuda.manual_seed": "f(1)",
    "torch.cuda.manual_seed_all": "f(1)",
    # torch.cuda.sparse
    **{
        f"torch.cuda.sparse.{kind}Tensor": f"f(torch.tensor([[0, 1], [1, 0]]), torch.ones(2, dtype=torch.{dtype}))"
        for kind, dtype in SCALAR_TYPES.items()
    },
    # torch.cuda.tunable
    "torch.cuda.tunable._create_batch_matrices": "f(2, 2, 2, 2, 2, 2, 2, False, False, torch.float32, 'cuda')",
    "torch.cuda.tunable._create_matrices": "f(2, 2, 2, 2, 2, 2, False, False, torch.float32, 'cuda')",
    "torch.cuda.tunable._gather_unique_untuned_gemm_from_files": "f('*.csv')",
    "torch.cuda.tunable._get_dtype_from_string": "f('half', {'half': torch.float16}, 'a')",
    "torch.cuda.tunable._parse_cuda_scaled_gemm_fields": ("f([])", AssertionError),
    "torch.cuda.tunable._parse_cuda_scaled_gemm_options": ("f([], {})", AssertionError),
    "torch.cuda.tunable._parse_rocm_scaled_gemm_options": ("f([], {}, None, None, None)", Exception),
    "torch.cuda.tunable._pop_dynamic_dims_mask": "f(None)",
    "torch.cuda.tunable._process_offline_gemms": ("f([], 0)", Exception),
    "torch.cuda.tunable._process_single_offline_gemm": ("f('', 0)", Exception),
    "torch.cuda.tunable.mgpu_tune_gemm_in_file": "f('*.csv', 1)",
    "torch.cuda.tunable.set_cublaslt_requested_algo_count": "f(1)",
    "torch.cuda.tunable.set_filename": "f('file')",
    "torch.cuda.tunable.set_max_tuning_duration": "f(1)",
    "torch.cuda.tunable.set_max_tuning_iterations": "f(1)",
    "torch.cuda.tunable.set_numerical_check_tolerances": "f(True)",
    "torch.cuda.tunable.set_rotating_buffer_size": "f(1)",
    "torch.cuda.tunable.write_file_on_exit": "f(True)",
    "torch.cuda.tunable.tune_gemm_in_file": "f('file')",
    # Private modules: what programs are known to use of them
    "torch.cuda._memory_viz.memory": "f(cuda.memory._snapshot())",
    "torch.cuda._memory_viz.segments": "f(cuda.memory._snapshot())",
    "torch.cuda._memory_viz.trace_plot": "f(cuda.memory._snapshot())",
    "torch.cuda._pin_memory_utils.pin_memory": "f(torch.empty(4096).data_ptr(), 4096)",
    "torch.cuda._sanitizer.enable_cuda_sanitizer": "f(), torch.cuda._sanitizer.cuda_sanitizer.disable()",
    "torch.cuda._utils._check_cuda": "f(0)",
    "torch.cuda._utils._cuda_load_module": "f(b'', [])",
    "torch.cuda._utils._get_device_index": "f('cuda:1')",
    "torch.cuda._utils._nvrtc_compile": "f('', 'kernel')",
}


def within(context: Any) -> None:
    """Enter and leave."""
    with context:
        pass


class Sample:
    """One use of one name; `raises` is the exception that is part of its answer."""

    def __init__(self, expression: Expression, value: Any, raises: type[Exception] | None = None) -> None:
        self.expression, self.raises = expression if isinstance(expression, tuple) else (expression, raises)
        self._value = value

    def before(self) -> None:
        torch.cuda.init()  # type: ignore[no-untyped-call]
        # torch draws flame graphs by a Perl script from the network.
        for draw in (torch.cuda._memory_viz.memory, torch.cuda._memory_viz.segments):
            draw.__defaults__ = (str,)
        self._device = torch.cuda.current_device()
        self._x = torch.ones(4, device="cuda")  # here, for in run() it would count as a use of what makes it

    def run(self) -> None:
        """Evaluate the expression, in an empty folder."""
        here = Path.cwd()
        with tempfile.TemporaryDirectory() as folder:
            os.chdir(folder)
            try:
                eval(
                    self.expression,
                    {"f": self._value, "torch": torch, "cuda": torch.cuda, "x": self._x, "within": within},
                )
            finally:
                os.chdir(here)

    def after(self) -> None:
        torch.cuda.set_device(self._device)
        torch.cuda.set_sync_debug_mode(0)
        torch.cuda.synchronize()


def sample_of(name: Name, value: Any) -> Sample | None:
    """How to use `name`; None where there is no entry, and it cannot be called without arguments."""
    if name.name.startswith("_get_amdsmi"):  # ROCm's library, on no other platform
        return Sample("f(0)", value, Exception)
    for path in (name.path, f"torch.cuda.{name.name}"):  # many stand in torch.cuda as well
        if path in SAMPLES:
            return Sample(SAMPLES[path], value)
    return Sample("f()", value) if _takes_nothing(value) else None


def _takes_nothing(value: Any) -> bool:
    if not callable(value) or isinstance(value, type):
        return False
    try:
        inspect.signature(value).bind()
    except (TypeError, ValueError):
        return False
    return True
