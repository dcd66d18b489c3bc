"""Libraries that torch._inductor.aot_compile has made, as functions: PyTorch's own aot_load knows CUDA and the CPU."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.utils import _pytree as pytree

__all__ = ["aot_load"]


def aot_load(so_path: str, device: str) -> Callable[..., Any]:
    """The function of the library at `so_path`, for "musa", "musa:N" or "cpu"."""
    runner = _runner(so_path, device)
    takes, returns = (pytree.treespec_loads(text) for text in runner.get_call_spec())

    def optimized(*args: Any, **kwargs: Any) -> Any:
        from torch.export._tree_utils import reorder_kwargs

        given = pytree.tree_leaves((args, reorder_kwargs(kwargs, takes)))
        return pytree.tree_unflatten(runner.run([leaf for leaf in given if isinstance(leaf, torch.Tensor)]), returns)

    return optimized


def _runner(so_path: str, device: str) -> Any:
    if device == "cpu":
        return torch._C._aoti.AOTIModelContainerRunnerCpu(so_path, 1)
    if device == "musa" or device.startswith("musa:"):
        from .. import torch_musa

        return torch_musa._MUSAC._aoti.AOTIModelContainerRunnerMusa(so_path, 1, device)
    raise RuntimeError("Unsupported device " + device)
