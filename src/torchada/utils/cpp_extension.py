"""torch.utils.cpp_extension under the name that it had in earlier releases of torchada.

At run time every name is torch's own object, redirected where torchada is in force, except for those that only torchada has. Torch
declares no types for most of its own; the types below are for type checkers.
"""

from __future__ import annotations

from collections.abc import Mapping
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
    "stable_compat_box_header",
    "stable_compat_include_dir",
]


def stable_compat_include_dir() -> str:
    """The folder of headers that complete PyTorch 2.9's stable ABI for C++ (`torch::stable`) by what came with 2.10.

    It has to be searched before PyTorch's own headers, as `include_dirs` of an extension are. From PyTorch 2.10 on, its headers
    only lead to PyTorch's own.
    """
    from torchada.building.stable_abi import stable_include_dir

    return stable_include_dir()


def stable_compat_box_header() -> str:
    """A header to be included before anything else (`-include`), in `stable_compat_include_dir()`: it has TORCH_BOX."""
    from torchada.building.stable_abi import stable_box_header

    return stable_box_header()


def _port_cuda_source(source_code: str, mapping_rules: Mapping[str, str] | None = None) -> str:
    """`torchada.porting.port_source` for a text, by its name in torchada 0.1. `mapping_rules` are names of the caller's own."""
    from torchada.building.legacy import port_text
    from torchada.compat.legacy import deprecated

    deprecated("torchada.utils.cpp_extension._port_cuda_source", "torchada.porting.port_source")
    return port_text(source_code, mapping_rules)


def _of_torch(name: str) -> object:
    if name.startswith("__"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module("torch.utils.cpp_extension"), name)


if not TYPE_CHECKING:  # a type checker would take every unknown name for an object
    __getattr__ = _of_torch


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
