"""torch.utils.cpp_extension under a name that earlier releases of torchada had for it."""

from __future__ import annotations

from importlib import import_module
from typing import Any

__all__ = [
    "CUDA_HOME",
    "BuildExtension",
    "CUDAExtension",
    "CppExtension",
    "include_paths",
    "library_paths",
    "load",
    "load_inline",
]


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module("torch.utils.cpp_extension"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
