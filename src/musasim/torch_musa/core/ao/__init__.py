"""Modules for quantization that fuse a convolution with SiLU, which PyTorch's own do not."""

import importlib
from typing import Any

__all__ = ["nn"]


def __getattr__(name: str) -> Any:
    if name in __all__:
        return importlib.import_module(f".{name}", __name__)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
