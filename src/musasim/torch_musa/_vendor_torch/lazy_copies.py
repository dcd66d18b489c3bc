"""`Tensor.lazy_to`: where unified memory is used, a tensor becomes another device's where it lies, and is not copied.

torch_musa 2.9.1 and newer put their own names over this one when they are imported, which fails on a torch without it.
"""

from __future__ import annotations

import os
from typing import Any

import torch

from musasim.base import release


def lazy_to(self: torch.Tensor, *args: Any, **kwargs: Any) -> torch.Tensor:
    """Tensor.to, which changes this tensor instead of copying it where nothing but the device is another."""
    _check_unified("lazy_to")
    parse: Any = torch._C._nn._parse_to
    device, dtype, _, memory_format = parse(*args, **{name: kwargs[name] for name in kwargs if name != "copy"})
    if kwargs.get("copy") or memory_format is not None or dtype not in (None, self.dtype):
        return self.to(*args, **kwargs)
    return moved(self, device)


def lazy_musa(self: torch.Tensor, device: Any = None, non_blocking: bool = False, *, memory_format: Any = None) -> Any:
    """The same to a musa device, the current one by default."""
    _check_unified("lazy_musa")
    target = torch.device("musa" if device is None else device)
    if target.type != "musa":
        raise RuntimeError("Invalid device, must be musa device")
    if memory_format is not None:
        return self.to(target, non_blocking=non_blocking, memory_format=memory_format)
    return moved(self, target)


def moved(tensor: torch.Tensor, device: torch.device | None) -> torch.Tensor:
    """`tensor` itself, on the device from now on, or a copy where its memory is not unified."""
    if device is None:
        return tensor
    if device.type == "musa" and device.index is None:
        device = torch.device("musa", torch.musa.current_device())
    if device != tensor.device:
        try:
            tensor.untyped_storage().edit_device(device)  # type: ignore[attr-defined]
        except RuntimeError:
            return tensor.to(device)
        place = tensor.untyped_storage(), tensor.storage_offset(), tensor.size(), tensor.stride()
        tensor.data = torch.empty(0, dtype=tensor.dtype, device=device).set_(*place)
    return tensor


def _check_unified(name: str) -> None:
    if os.environ.get("CPU_UNIFIED_FLAG") != "True":
        raise RuntimeError(
            f"{name} requires unified memory: call it in a block of torch_musa.use_unified_allocator() "
            "or torch_musa.use_unified_cpu_allocator()"
        )


def install() -> None:
    """Declare the method, from the release on that reads it."""
    if release.since("2.9.1"):
        torch.Tensor.lazy_to = lazy_to  # type: ignore[attr-defined]
