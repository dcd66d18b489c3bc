"""What autocast supports here, and two functions of torch that mean musa if no device is given."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

import torch

__all__ = ["amp_definitely_not_available", "get_amp_supported_dtype"]

_musa_device = torch._C._get_privateuse1_backend_name()
# A reloaded package finds its own functions in torch. They hold the original ones.
_torch_is_autocast_enabled = getattr(torch.is_autocast_enabled, "_stock", torch.is_autocast_enabled)
_torch_set_autocast_enabled = getattr(torch.set_autocast_enabled, "_stock", torch.set_autocast_enabled)


def amp_definitely_not_available() -> bool:
    """False: it asks for a device, or for the package, which is there."""
    from ..device import is_available

    return not (is_available() or find_spec("torch_musa"))


def _musa_is_autocast_enabled(*args: Any, **kwargs: Any) -> bool:
    """torch.is_autocast_enabled, which with no argument means musa (torch: cuda)."""
    if not args and not kwargs:
        return bool(_torch_is_autocast_enabled(_musa_device))
    return bool(_torch_is_autocast_enabled(*args, **kwargs))


def _musa_set_autocast_enabled(*args: Any, **kwargs: Any) -> None:
    """torch.set_autocast_enabled, which with the flag alone means musa (torch: cuda)."""
    if len(args) + len(kwargs) == 1:
        args = (_musa_device, *args)
    _torch_set_autocast_enabled(*args, **kwargs)


_musa_is_autocast_enabled._stock = _torch_is_autocast_enabled  # type: ignore[attr-defined]
_musa_set_autocast_enabled._stock = _torch_set_autocast_enabled  # type: ignore[attr-defined]


def get_amp_supported_dtype() -> list[torch.dtype]:
    """The types that autocast may cast to."""
    from ..device import is_bf16_supported

    return [torch.float16, torch.bfloat16] if is_bf16_supported() else [torch.float16]


def _hook_autocast_common() -> None:
    torch.is_autocast_enabled = _musa_is_autocast_enabled
    torch.set_autocast_enabled = _musa_set_autocast_enabled
