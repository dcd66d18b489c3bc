"""torch.utils.cpp_extension under the name that it had in earlier releases of torchada.

At run time every name is torch's own object, redirected where torchada is in force. Torch declares no types for most of them;
the types below are for type checkers.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import ModuleType

    from setuptools import Extension
    from setuptools.command.build_ext import build_ext

    CUDA_HOME: str | None

    class BuildExtension(build_ext):
        @classmethod
        def with_options(cls, **options: Any) -> type[BuildExtension]: ...

    def CppExtension(name: str, sources: Sequence[str], *args: Any, **kwargs: Any) -> Extension: ...

    def CUDAExtension(name: str, sources: Sequence[str], *args: Any, **kwargs: Any) -> Extension: ...

    def include_paths(device_type: str = "cpu", torch_include_dirs: bool = True) -> list[str]: ...

    def library_paths(device_type: str = "cpu", torch_include_dirs: bool = True) -> list[str]: ...

    def load(name: str, sources: str | Sequence[str], *args: Any, **kwargs: Any) -> ModuleType: ...

    def load_inline(name: str, cpp_sources: str | Sequence[str], *args: Any, **kwargs: Any) -> ModuleType: ...


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


def _of_torch(name: str) -> object:
    if name.startswith("__"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module("torch.utils.cpp_extension"), name)


if not TYPE_CHECKING:  # a type checker would take every unknown name for an object
    __getattr__ = _of_torch


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
