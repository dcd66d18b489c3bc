"""The collective library's version. Unlike torch.cuda.nccl, this module has no collectives."""

from __future__ import annotations

from typing import Any

from .. import _MUSAC

__all__ = ["version"]


def version() -> tuple[Any, ...]:
    """(major, minor, patch), and a suffix if there is one."""
    if not hasattr(_MUSAC, "_mccl_version"):
        raise RuntimeError("this torch_musa was built without MCCL")
    number = _MUSAC._mccl_version()
    version = (number >> 32, (number >> 16) & 65535, number & 65535)
    suffix = _MUSAC._mccl_version_suffix().decode("utf-8")
    return (*version, suffix) if suffix else version
