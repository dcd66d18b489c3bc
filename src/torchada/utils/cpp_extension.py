"""torch.utils.cpp_extension under a name that earlier releases of torchada had for it."""

from __future__ import annotations

from importlib import import_module
from typing import Any

_NAMES = (
    "BuildExtension",
    "CUDAExtension",
    "CUDA_HOME",
    "CppExtension",
    "include_paths",
    "library_paths",
    "load",
    "load_inline",
)
__all__ = list(_NAMES)


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module("torch.utils.cpp_extension"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_NAMES})
