"""`module.musa()`, and other attributes that torch's modules get."""

from __future__ import annotations

from typing import Any, TypeVar

import torch

T = TypeVar("T", bound=Any)


def _musa(self: T, device: Any = None) -> T:
    """Move all parameters and buffers to `device`, the current one by default."""
    return self._apply(lambda tensor: tensor.musa(device))  # type: ignore[no-any-return]


def set_module_attributes() -> None:
    torch.nn.Module.musa = _musa  # type: ignore[attr-defined]
    if torch.distributed.is_available():
        distributed: Any = torch.distributed
        distributed.is_mccl_available = distributed.distributed_c10d.is_mccl_available
