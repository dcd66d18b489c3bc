"""`musa` names of torch.Tensor."""

from __future__ import annotations

from typing import Any

import torch

from .. import _MUSAC

#: The native function itself, because a Python function in between would triple the cost of reading the property.
_is_musa = property(_MUSAC._is_musa)


def _musa(self: torch.Tensor, *args: Any, **kwargs: Any) -> torch.Tensor:
    """Copy to a musa device: (device=None, non_blocking=False, *, memory_format=torch.preserve_format)."""
    return _MUSAC._musa(self, *args, **kwargs)  # type: ignore[no-any-return]


def _pin_memory(self: torch.Tensor, device: Any = "musa") -> torch.Tensor:
    """Copy to page-locked host memory."""
    return self.orig_pin_memory(device)  # type: ignore[attr-defined, no-any-return]


def _is_pinned(self: torch.Tensor, device: Any = "musa") -> bool:
    """Whether the tensor lies in page-locked host memory."""
    return self.orig_is_pinned(device)  # type: ignore[attr-defined, no-any-return]


def _to(self: torch.Tensor, *args: Any, **kwargs: Any) -> torch.Tensor:
    """Tensor.to, where a plain int means the musa device of that index."""
    if args and type(args[0]) is int:
        args = (f"musa:{args[0]}", *args[1:])
    elif kwargs and type(kwargs.get("device")) is int:
        kwargs["device"] = f"musa:{kwargs['device']}"
    return self.orig_to(*args, **kwargs)  # type: ignore[attr-defined, no-any-return]


def set_torch_attributes() -> None:
    tensor: Any = torch.Tensor
    if not hasattr(tensor, "orig_to"):
        tensor.orig_to = tensor.to
        tensor.orig_pin_memory = tensor.pin_memory
        tensor.orig_is_pinned = tensor.is_pinned
    tensor.to = _to
    tensor.pin_memory = _pin_memory
    tensor.is_pinned = _is_pinned
    tensor.musa = _musa
    tensor.is_musa = _is_musa
