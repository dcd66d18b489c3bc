"""Flags for the compilers, and which of them gets which."""

from __future__ import annotations

import os
import platform
import shlex
import warnings
from pathlib import Path
from typing import Any

import torch
import torch.utils.cpp_extension as torch_builder

from .. import torch_musa
from ..core._utils import _checks_architectures

COMMON_MCC_FLAGS: list[str] = []

_ARCHITECTURES = (10, 21, 22, 31, 32)
_MUSA_SUFFIXES = (".mu", ".muh")


def _get_cpu_arch() -> str:
    return platform.machine()


def _get_musa_arch_flags() -> list[str]:
    """Flags for the chips to compile for: those in TORCH_MUSA_ARCH_LIST ("22;31"), otherwise those of this machine."""
    listed = os.environ.get("TORCH_MUSA_ARCH_LIST")
    if not listed:
        warnings.warn(
            "TORCH_MUSA_ARCH_LIST is not set, so it is compiled for the devices that are visible", stacklevel=2
        )
    chosen = [name.strip() for name in listed.split(";") if name.strip()] if listed else _visible_architectures()
    for name in chosen:
        if _checks_architectures() and name not in map(str, _ARCHITECTURES):
            raise ValueError(f"Unknown MUSA arch ({name}) or GPU not supported; supported are {list(_ARCHITECTURES)}")
    return [f"--offload-arch=mp_{name}" for name in sorted(set(chosen))]


def _visible_architectures() -> list[str]:
    newest = max((int(name.rsplit("_", 1)[-1]) for name in torch_musa.get_arch_list()), default=_ARCHITECTURES[-1])
    architectures = []
    for index in range(torch_musa.device_count()):
        major, minor = torch_musa.get_device_capability(index)
        if 10 * major + minor > newest:
            warnings.warn(
                f"The detected MUSA capability {major}.{minor} is newer than torch_musa knows; compiling for mp_{newest}.",
                stacklevel=3,
            )
        architectures.append(str(min(10 * major + minor, newest)))
    return architectures


def _standard_flag() -> str:
    """C++17 as in torch_musa 2.7.1, or the standard that a newer PyTorch's own builder uses."""
    text = Path(torch_builder.__file__).read_text(encoding="utf-8")
    return "-std=c++20" if "-std=c++20" in text else "-std=c++17"


def _with_standard(flags: list[str]) -> list[str]:
    return flags if any(flag.startswith("-std=") for flag in flags) else [*flags, _standard_flag()]


def _abi_flags() -> list[str]:
    flags = [f"-D_GLIBCXX_USE_CXX11_ABI={int(torch._C._GLIBCXX_USE_CXX11_ABI)}"]
    for name in ("COMPILER_TYPE", "STDLIB", "BUILD_ABI"):
        value = getattr(torch._C, f"_PYBIND11_{name}", None)
        if value is not None:
            flags.append(f'-DPYBIND11_{name}="{value}"')
    return flags


def _mcc_flags(flags: list[str]) -> list[str]:
    return _with_standard([*COMMON_MCC_FLAGS, "-fPIC", *flags])


def _is_musa_file(path: str) -> bool:
    return os.path.splitext(path)[1] in _MUSA_SUFFIXES


def _chosen_flags(flags: Any, key: str) -> tuple[list[str], bool]:
    """The flags for one compiler, and whether those for C++ contain "force_mcc", which selects mcc for C++ as well."""
    chosen = list(flags[key] if isinstance(flags, dict) else flags)
    return [flag for flag in chosen if flag != "force_mcc"], "force_mcc" in chosen


def _quoted(flags: list[str]) -> list[str]:
    return [shlex.quote(flag) for flag in flags]
