"""`torch.musa.amp.autocast` and its helpers for autograd functions."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import torch

from .common import _musa_device

_torch: Any = torch.amp.autocast_mode

__all__ = ["autocast", "custom_bwd", "custom_fwd"]


class autocast(_torch.autocast):  # type: ignore[misc]
    """torch.autocast("musa")."""

    def __init__(self, enabled: bool = True, dtype: torch.dtype = torch.float16, cache_enabled: bool = True) -> None:
        if torch._jit_internal.is_scripting():
            self._enabled = enabled
            self.device = _musa_device
            self.fast_dtype = dtype
            return
        super().__init__(_musa_device, enabled=enabled, dtype=dtype, cache_enabled=cache_enabled)

    def __enter__(self) -> Any:
        return self if torch._jit_internal.is_scripting() else super().__enter__()

    def __exit__(self, exc_type: Any, exc_val: Any, exc_tb: Any) -> Any:
        if torch._jit_internal.is_scripting():
            return None
        return super().__exit__(exc_type, exc_val, exc_tb)

    def __call__(self, func: Any) -> Any:
        return func if torch._jit_internal.is_scripting() else super().__call__(func)


def _cast(value: Any, dtype: torch.dtype) -> Any:
    """`value` with every floating point musa tensor in it as `dtype`."""
    return _torch._cast(value, _musa_device, dtype)


def custom_fwd(fwd: Callable[..., Any] | None = None, *, cast_inputs: torch.dtype | None = None) -> Any:
    """For `forward` of an autograd function: with `cast_inputs` its inputs are cast and autocast is off inside."""
    if fwd is None:
        return functools.partial(custom_fwd, cast_inputs=cast_inputs)
    return torch.amp.custom_fwd(fwd, device_type=_musa_device, cast_inputs=cast_inputs)


def custom_bwd(bwd: Callable[..., Any]) -> Any:
    """For `backward` of an autograd function: run it in the autocast state `forward` had."""
    return torch.amp.custom_bwd(bwd, device_type=_musa_device)
