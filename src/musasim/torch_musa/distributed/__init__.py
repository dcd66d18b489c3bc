"""What torch_musa changes of torch.distributed: sharded training, DTensor, checkpoints.

The real package imports torch's modules for all this and changes them at once. They take seconds, so here each change waits for the
import of the module that it is made in.

Not simulated, because PyPI's torch has nothing there to change:

- `dtensor_patches` turns off the vendor's fused cross entropy under loss parallelism, an operator of the vendor's torch alone;
- `fsdp._init_utils` puts this device where torch asked for CUDA's; torch asks for the accelerator now, which is this device;
- rules by which DTensor splits the fused attention of 2.9.1 and newer: PyPI's torch does not call that operator;
- `fsdp._runtime_utils._reduce_grad` waits for a stream if a variable is set that is read only where all streams are one.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

import torch

from musasim.base import release

from .._vendor_torch.late_import import Action, after_import
from . import _composable, fsdp  # noqa: F401

#: Modules of torch, and the modules here that change them when they are imported, by the release that began to do so.
_CHANGES = {
    "2.7.1": {
        "torch.distributed.device_mesh": "device_mesh",
        "torch.distributed.fsdp._runtime_utils": "fsdp._runtime_utils",
        "torch.distributed.fsdp": "_composable.fsdp.patch",
        "torch.distributed._state_dict_utils": "_state_dict_utils",
        "torch.distributed.checkpoint.utils": "dist_wrapper_patch",
        "torch.distributed.tensor": "tensor",
    },
    "2.9.1": {"torch.distributed._symmetric_memory": "_symmetric_memory"},
}

#: What the real package imports from `tensor` with a star.
_RULES = release.of({"2.7.1": ("fused_rmsnorm_strategy", "fused_rmsnorm_bwd_strategy"), "2.9.1": ()})


def _apply_distributed_patch() -> None:
    if release.since("2.11.0"):
        import_module(f"{__name__}.numa_binding").apply_torchrun_numa_patch()
    for changes in release.so_far(_CHANGES).values():
        for module, part in changes.items():
            after_import(module, _import(part))
    if release.since("2.9.1"):
        _find_by_name("_symmetric_memory")


def _find_by_name(part: str) -> None:
    """Let programs find a module of torch.distributed that the real package has imported, and that nothing else imports."""
    package: Any = torch.distributed
    find_others = vars(package).get("__getattr__")

    def __getattr__(name: str) -> Any:
        if name == part:
            return import_module(f"{package.__name__}.{part}")
        if find_others is not None:
            return find_others(name)
        raise AttributeError(f"module {package.__name__!r} has no attribute {name!r}")

    package.__getattr__ = __getattr__


def _apply_sharded_grad_scaler_patch() -> None:
    after_import("torch.distributed.fsdp.sharded_grad_scaler", _import("fsdp.sharded_grad_scaler"))


def _import(part: str) -> Action:
    def change(_module: Any) -> None:
        # Its import makes the change. It may be under way: a program imports it, and it imports torch's.
        import_module(f"{__name__}.{part}")

    return change


def __getattr__(name: str) -> Any:
    """`tensor`, and its names."""
    if name not in ("tensor", *_RULES):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    rules = import_module(f"{__name__}.tensor")
    return rules if name == "tensor" else getattr(rules, name)
