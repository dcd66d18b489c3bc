"""Names of torch.Tensor for unified memory."""

from __future__ import annotations

from typing import Any

import torch

from ..._vendor_torch.lazy_copies import lazy_musa
from ...core import tensor_attrs

_set_torch_attributes = tensor_attrs.set_torch_attributes


def _lazy_musa(self: torch.Tensor, *args: Any, **kwargs: Any) -> torch.Tensor:
    """Let this tensor be on a musa device, without a copy: (device=None, non_blocking=False, *, memory_format=None)."""
    return lazy_musa(self, *args, **kwargs)  # type: ignore[no-any-return]


def _lazy_to(self: torch.Tensor, *args: Any, **kwargs: Any) -> torch.Tensor:
    """Tensor.lazy_to, where a plain int means the musa device of that index."""
    if args and type(args[0]) is int:
        args = (f"musa:{args[0]}", *args[1:])
    elif type(kwargs.get("device")) is int:
        kwargs["device"] = f"musa:{kwargs['device']}"
    return self.orig_lazy_to(*args, **kwargs)  # type: ignore[attr-defined, no-any-return]


def set_torch_attributes() -> None:
    _set_torch_attributes()
    tensor: Any = torch.Tensor
    if not hasattr(tensor, "orig_lazy_to"):
        tensor.orig_lazy_to = tensor.lazy_to
    tensor.lazy_to = _lazy_to
    tensor.lazy_musa = _lazy_musa
