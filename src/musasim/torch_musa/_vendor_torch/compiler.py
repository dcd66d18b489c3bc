"""torch.compile: the vendor's torch asks torch_musa to register itself, and knows that the device is a GPU.

torch._dynamo and torch._inductor take longer to import than everything else together, so these changes wait for their import.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import Any

import torch

from musasim.base import settings

from . import traced_autocast, traced_queries
from .late_import import after_import
from .rewriting import rewrite


def install() -> None:
    after_import("torch._dynamo.device_interface", _name_the_interface)
    after_import("torch._dynamo.utils", _preserve_the_random_numbers)
    traced_autocast.install()
    traced_queries.install()
    after_import("torch._inductor.config", _set_defaults)
    after_import("torch._inductor.utils", _call_it_a_gpu)
    after_import("torch._inductor.codegen.common", _register_the_backend)
    after_import("torch._inductor.codegen.cpp_utils", _name_it_in_cpp)
    after_import("torch._inductor.cpp_builder", _build_for_the_device)
    if not generates_triton():
        after_import("torch._inductor.scheduler", _schedule_as_the_cpu)
    after_import("torch._inductor.codecache", _name_no_device_in_keys)
    after_import("torch._inductor.cudagraph_utils", _look_for_the_device)
    after_import("torch._inductor.output_code", _report_on_the_device)
    after_import("torch._inductor.compile_fx", _record_graphs_of_the_device)


def generates_triton() -> bool:
    """Whether Inductor generates Triton kernels as on a device, by MUSASIM_INDUCTOR=triton, and not C++."""
    return settings.value("MUSASIM_INDUCTOR", "cpp") == "triton"


def _name_the_interface(module: Any) -> None:
    from .._dynamo.device_interface import register

    register()


def _preserve_the_random_numbers(utils: Any) -> None:
    """torch preserves those of the host, of CUDA and of XPU while it traces, tunes and records."""
    preserve_others: Callable[[], AbstractContextManager[None]] | None = getattr(utils, "preserve_rng_state", None)
    if preserve_others is None:
        return  # threads that wait for each other go on with modules that are not complete
    torch_musa: Any = sys.modules["torch_musa"]

    @contextlib.contextmanager
    def preserve_rng_state() -> Iterator[None]:
        with preserve_others(), _preserve(torch_musa) if torch_musa.is_available() else contextlib.nullcontext():
            yield

    utils.preserve_rng_state = preserve_rng_state


@contextlib.contextmanager
def _preserve(torch_musa: Any) -> Iterator[None]:
    modes_off = torch.utils._python_dispatch._disable_current_modes
    with modes_off(), torch._C._DisableFuncTorch():
        state = torch_musa.get_rng_state().clone()
    try:
        yield
    finally:
        with modes_off():
            torch_musa.set_rng_state(state)


def _set_defaults(config: Any) -> None:
    _set_default(config, "compile_threads", 1)  # as the vendor does
    if not generates_triton():
        # GPU kernels leave the order of loops open, but C++ kernels need it fixed.
        _set_default(config, "loop_ordering_after_fusion", False)


def _set_default(config: Any, name: str, value: object) -> None:
    """For every thread: from torch 2.13 on an assignment holds in its own, and autograd's compile the backward pass."""
    config._config[name].default = value


def _call_it_a_gpu(utils: Any) -> None:
    utils.GPU_TYPES = ["musa"]

    def is_gpu(device: str | None) -> bool:
        return device in ("cuda", "xpu", "musa")

    utils.is_gpu = is_gpu
    if generates_triton():
        return
    if hasattr(utils, "get_current_backend"):
        utils.get_current_backend = _whose_kernels_are_cpp(utils.get_current_backend)
    else:  # up to torch 2.7, code for the kernels of all GPUs asks for CUDA's backend
        config: Any = sys.modules["torch._inductor.config"]
        config.cuda_backend = "cpp"


def _whose_kernels_are_cpp(get_current_backend: Any) -> Any:
    def current_backend(device_type: str | None = None) -> Any:
        from torch._inductor.virtualized import V

        if (device_type or V.graph.get_current_device_or_throw().type) == "musa":
            return "cpp"
        return get_current_backend(*([device_type] if device_type else []))  # torch 2.9's takes no argument

    return current_backend


def _register_the_backend(common: Any) -> None:
    register_torchs_own = common.init_backend_registration

    def init_backend_registration() -> None:
        if common.get_scheduling_for_device("musa") is None:
            sys.modules["torch_musa"]._init_inductor_backend_registration()
        register_torchs_own()

    common.init_backend_registration = init_backend_registration


def _name_it_in_cpp(cpp_utils: Any) -> None:
    if hasattr(cpp_utils, "DEVICE_TO_ATEN"):  # from torch 2.15 on, the overrides that torch_musa registers say it
        cpp_utils.DEVICE_TO_ATEN["musa"] = "at::kPrivateUse1"


def _build_for_the_device(cpp_builder: Any) -> None:
    from .._inductor.cpp_builder import options_by_device

    cpp_builder.get_cpp_torch_device_options = options_by_device(cpp_builder.get_cpp_torch_device_options)


def _schedule_as_the_cpu(scheduler: Any) -> None:
    """The kernels are C++ for the CPU, so Triton is not needed and loops are fused as for the CPU."""
    node, whole = scheduler.BaseSchedulerNode, scheduler.Scheduler
    node_is_cpu, create = node.is_cpu, whole.create_backend

    def is_cpu(self: Any) -> bool:
        device = self.get_device()
        return bool(node_is_cpu(self) or (device is not None and device.type == "musa"))

    def create_backend(self: Any, device: torch.device) -> Any:
        if device.type != "musa":
            return create(self, device)
        scheduler.V.graph.add_device_info(device)
        return scheduler.get_scheduling_for_device(device.type)(self)

    node.is_cpu, whole.create_backend = is_cpu, create_backend


def _name_no_device_in_keys(codecache: Any) -> None:
    """The caches' key names a CUDA GPU. That query fails with another error once torch.cuda initialises this device."""
    get_torchs_own = codecache.CacheBase.get_system

    @functools.cache
    def get_system() -> Any:
        try:
            return get_torchs_own()
        except AttributeError:
            return {"hash": hashlib.sha256(b"{}").hexdigest()}

    codecache.CacheBase.get_system = staticmethod(get_system)


def _look_for_the_device(cudagraph_utils: Any) -> None:
    rewrite(cudagraph_utils.check_multiple_devices_or_any_cpu_nodes, {}, {"cuda": "musa"})
    if hasattr(cudagraph_utils, "_CUDAGRAPH_SUPPORTED_DEVICE_TYPES"):  # from torch 2.15 on, that function asks this
        cudagraph_utils._CUDAGRAPH_SUPPORTED_DEVICE_TYPES = frozenset({"musa"})
    if hasattr(cudagraph_utils, "collect_cuda_data_ptrs"):
        rewrite(cudagraph_utils.collect_cuda_data_ptrs, {}, {"cuda": "musa"})


def _report_on_the_device(output_code: Any) -> None:
    graph = output_code.CompiledFxGraph
    for function in (output_code.cudagraph_post_compile, graph.__init__, graph.post_compile):
        rewrite(function, {}, {"cuda": "musa"})


def _record_graphs_of_the_device(compile_fx: Any) -> None:
    # Like the vendor, this leaves output_code.maybe_handle_backward_generation alone, which asks for the manager of CUDA's trees.
    compile_fx.musagraphify_impl = compile_fx.cudagraphify_impl
    rewrite(compile_fx.musagraphify_impl, {"cuda": "musa", "CUDAGraph": "MUSAGraph"})
    trees = {"torch._inductor.cudagraph_trees": "torch_musa._inductor.musagraph_trees"}
    rewrite(compile_fx.cudagraphify, {**trees, "cudagraphify_impl": "musagraphify_impl"})
