"""Which area concerns which module, as strings: an area is imported when its module has arrived, and not before.

Third parties add areas through the entry-point group `torchada.areas`; see docs/architecture.md.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from torchada import _entry_points
from torchada._warnings import warn_once

# In the order in which they are applied: later areas may use what earlier ones redirect.
AREAS: dict[str, tuple[str, ...]] = {
    "torch": (
        "device",
        "factories",
        "operators",
        "tensors",
        "modules",
        "storages",
        "cuda",
        "cuda_native",
        "cuda_devices",
        "cuda_memory",
        "cuda_monitoring",
        "cuda_sparse",
        "cuda_sync_debug",
        "cuda_absent",
        "cuda_streams",
        "cuda_graphs",
        "cuda_pools",
        "legacy_types",
        "random",
        "nested",
        "amp",
        "serialization",
        "library",
        "dispatch_keys",
        "visible_devices",
        "cuda_runtime",
        "cdll",
        "profiler",
        "nvtx",
        "cuda_comm",
        "cuda_nccl",
        "cuda_lacking",
        "sharing",
        "dlpack",
        "tensor_data",
        "accelerator",
        "tf32",
        "backends_cuda",
        "backends_cudnn",
        "data",
        "jit",
        "script_archives",
        "distributed",
        "distributed_groups",
        "distributed_variables",
        "distributed_options",
        "distributed_mesh",
        "distributed_data_parallel",
        "distributed_rpc",
        "distributed_symmetric_memory",
        "build_version",
        "cpp_ops",
    ),
    "torch.cuda._sanitizer": ("cuda_sanitizer",),
    "torch.distributed.argparse_util": ("distributed_launch",),
    "torch.distributed.fsdp._fully_shard._fsdp_collectives": ("distributed_fsdp",),
    "torch.distributed.nn.jit.templates.remote_module_template": ("distributed_remote_template",),
    "torch.distributed.nn.api.remote_module": ("distributed_remote_module",),
    "ctypes.util": ("find_library",),
    "torch.utils.cpp_extension": ("cpp_extension",),
    "torch.utils.checkpoint": ("checkpoint",),
    "torch.nn.attention.flex_attention": ("flex_attention",),
    "torch.nn.attention.varlen": ("varlen",),
    "torch._dynamo": ("dynamo", "dynamo_constants"),
    "torch._dynamo.device_interface": ("device_interface",),
    "torch._functorch._aot_autograd.autograd_cache": ("autograd_cache",),
    "torch._inductor.codegen.common": ("inductor_backends",),
    "torch._inductor.compile_fx": ("inductor_stashed", "inductor_compile"),
    "torch._inductor.output_code": ("inductor_output",),
    "torch._inductor.cudagraph_trees": ("inductor_graph_trees",),
    "torch._inductor.codecache": ("inductor_cache", "inductor_modules"),
    "torch._inductor.autotune_process": ("inductor_autotuning",),
    "torch._inductor.template_heuristics.registry": ("inductor_heuristics",),
    "torch.export.passes": ("export",),
    "torch.cuda._graph_annotations": ("cuda_graph_annotations",),
    "torch._custom_op.impl": ("custom_op",),
    "torch.testing._internal.optests": ("opcheck",),
    "lightning.pytorch.accelerators.cuda": ("lightning",),
    "pytorch_lightning.accelerators.cuda": ("pytorch_lightning",),
    "lightning_fabric.accelerators.cuda": ("lightning_fabric",),
    "ray.air._internal.device_manager": ("ray_devices",),
    "ray.train.torch.config": ("ray_train",),
}
# Where the areas of a module have patches as well: when it is reloaded, they are applied again.
PARTS = {"torch.cuda": "torch"}
_BUILT_IN = frozenset(area for areas in AREAS.values() for area in areas)
PACKAGE = "torchada.areas"
GROUP = "torchada.areas"


class Registry:
    """The built-in areas and, from the first question on, those of entry points."""

    def __init__(self) -> None:
        self._found: dict[str, dict[str, Any]] = {}
        self._read = False

    def modules(self) -> list[str]:
        """The modules that some area concerns, torch first."""
        self._read_entry_points()
        return list(dict.fromkeys([*AREAS, *self._found]))

    def parts(self) -> list[str]:
        """Modules that are watched for their reload alone."""
        return list(PARTS)

    def home_of(self, module: str) -> str:
        """The module whose areas concern `module`: itself, or what it is a part of."""
        return PARTS.get(module, module)

    def areas_of(self, module: str) -> list[str]:
        """Names of the areas of one module, in the order of application."""
        return [*AREAS.get(module, ()), *self._found.get(module, {})]

    def load(self, module: str, area: str) -> Any:
        """The area itself: a module or object with `patches(context)`."""
        if area in AREAS.get(module, ()):
            return import_module(f"{PACKAGE}.{area}")
        return self._found[module][area]

    def names(self) -> set[str]:
        """Every area's name, without loading any."""
        return {*_BUILT_IN, *_entry_points.names(GROUP)}

    def _read_entry_points(self) -> None:
        if self._read:
            return
        self._read = True
        for name, area in _entry_points.entry_points(GROUP):
            fault = _fault(name, area)
            if fault:
                warn_once(f"entry point {name!r} of group {GROUP!r} is left out: {fault}")
                continue
            for module in area.MODULES:
                self._found.setdefault(module, {})[name] = area


def _fault(name: str, area: Any) -> str | None:
    if name in _BUILT_IN:
        return "torchada has an area of that name itself"
    modules = getattr(area, "MODULES", None)
    if not isinstance(modules, (tuple, list)) or not all(isinstance(module, str) for module in modules):
        return f"MODULES is {modules!r}; expected the names of the modules it concerns"
    if not callable(getattr(area, "patches", None)):
        return "it has no function patches(context)"
    return None


REGISTRY = Registry()
