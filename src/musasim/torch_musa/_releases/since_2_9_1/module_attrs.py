"""`module.lazy_to()`, for unified memory."""

from __future__ import annotations

from typing import Any

import torch

from ...core import module_attrs

_set_module_attributes = module_attrs.set_module_attributes


def _lazy_to(self: Any, *args: Any, **kwargs: Any) -> Any:
    """Module.to, which leaves parameters and buffers where they lie: see Tensor.lazy_to."""
    device, dtype, non_blocking, memory_format = torch._C._nn._parse_to(*args, **kwargs)
    if dtype is not None and not (dtype.is_floating_point or dtype.is_complex):
        raise TypeError(
            f"nn.Module.lazy_to only accepts floating point or complex dtypes, but got desired dtype={dtype}"
        )

    def convert(tensor: Any) -> Any:
        wanted = dtype if tensor.is_floating_point() or tensor.is_complex() else None
        layout = {"memory_format": memory_format} if memory_format is not None and tensor.dim() in (4, 5) else {}
        return tensor.lazy_to(device, wanted, non_blocking, **layout)

    return self._apply(convert)


def set_module_attributes() -> None:
    _set_module_attributes()
    torch.nn.Module.lazy_to = _lazy_to  # type: ignore[attr-defined]
