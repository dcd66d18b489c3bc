"""Packages that AOTInductor has made, as functions. What is no library itself is left to PyTorch's own loader."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import torch
from torch._inductor.package import package as _package
from torch._inductor.package.package import load_package as _of_torch

from .._export import aot_load

__all__ = ["load_package"]


def load_package(path: str | list[str], device: str) -> Callable[..., Any]:
    """The function of a package (.pt2), of its folder, or of the files that aot_compile returns.

    The device is "musa", "musa:N" or "cpu".
    """
    if isinstance(path, list):
        return aot_load(_library(path), device)
    if path.endswith(".so"):
        raise RuntimeError("Unable to load .so. It should be a .pt2 format or a directory.")
    if not path.endswith(".pt2"):
        assert os.path.isdir(path), "Must specify a directory or a .pt2 file"
        return aot_load(_built(path), device)
    if device != "cpu" and not device.startswith("musa"):
        raise RuntimeError("Unsupported device " + device)
    index = torch.device(device).index
    return _of_torch(path) if index is None else _of_torch(path, device_index=index)


def _library(files: list[str]) -> str:
    library = next((file for file in files if isinstance(file, str) and file.endswith(".so")), None)
    if library is None:
        raise RuntimeError("Unable to find file with suffix .so")
    return library


def _built(folder: str) -> str:
    """The library of a folder with the sources of a package."""
    files = [os.path.join(root, file) for root, _, names in os.walk(folder) for file in names]
    return _package.compile_so(folder, files, folder)


def _apply_package_patch() -> None:
    _package.load_package = load_package  # type: ignore[assignment]


_apply_package_patch()
