"""`torch.backends.musa.matmul`, the switch of matrix products from torch_musa 2.9.1 on. muDNN's is for convolutions alone there.

No kernel of the simulator computes in TF32: the switches are set and read, as muDNN's is in every release.
"""

from __future__ import annotations

import os
from functools import cached_property
from typing import Any

from musasim.base import release

from .. import _MUSAC
from . import musa


class _Context:
    @cached_property
    def allow_tf32(self) -> bool:
        return os.environ.get("TORCH_ALLOW_TF32_MUBLAS_OVERRIDE") == "1"


_CONTEXT = _Context()


def _get_mublas_allow_tf32() -> bool:
    return _CONTEXT.allow_tf32


def _set_mublas_allow_tf32(allow: bool) -> None:
    if not isinstance(allow, bool):
        raise RuntimeError(f"set_mublas_mallow_tf32 expects a bool, but got {type(allow).__name__}")
    _CONTEXT.allow_tf32 = allow


class muBLASModule:
    """Passes `torch.backends.musa.matmul.allow_tf32 = True` on. It has no other name."""

    def __getattr__(self, name: str) -> Any:
        if name == "allow_tf32":
            return _MUSAC._get_mublas_allow_tf32()
        raise AttributeError(f"Unknown attribute {name}")

    def __setattr__(self, name: str, value: Any) -> None:
        if name != "allow_tf32":
            raise AttributeError(f"Unknown attribute {name}")
        _MUSAC._set_mublas_allow_tf32(value)


def publish(backends: Any, namespace: dict[str, Any]) -> None:
    """Add torch.backends.musa where the release has it. Its names are in torch.musa as well, as the real package imports them."""
    if not release.since("2.9.1"):
        return
    _MUSAC._get_mublas_allow_tf32 = _get_mublas_allow_tf32
    _MUSAC._set_mublas_allow_tf32 = _set_mublas_allow_tf32
    names = {"muBLASModule": muBLASModule, "matmul": muBLASModule()}
    vars(musa).update(names)
    namespace.update(names)
    backends.musa = musa
