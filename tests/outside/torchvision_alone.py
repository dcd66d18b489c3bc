"""A plugin of pytest: torchvision of PyPI beside a PyTorch for the CPU.

Its compiled part is made for CUDA's builds and is not loaded then. Its Python part declares two of its operators all the same, and
cannot be imported unless they have a schema. What computes with one of torchvision's operators fails still.
"""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version

import torch


def _is_alone() -> bool:
    """Whether torchvision is there, and is made for another PyTorch than this."""
    try:
        return "+cpu" in version("torch") and "+cpu" not in version("torchvision")
    except PackageNotFoundError:
        return False


if _is_alone():
    _OPERATORS = torch.library.Library("torchvision", "FRAGMENT")
    for _name in ("nms", "qnms"):
        _OPERATORS.define(f"{_name}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
