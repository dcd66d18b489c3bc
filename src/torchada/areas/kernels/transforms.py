"""Gradients of torch.fft.fft, ifft, rfft, irfft and torch.stft, and their `out`.

PyTorch composes these of operators that have gradients. torch_musa 2.7.1 registers kernels of its own in their place, through which
autograd passes nothing: there is a warning, and x.grad is None (SpectralOps.cpp, musa_functions.yaml). So autograd gets the
composition.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING, Any

from torchada.areas.kernels._overloads import overload
from torchada.areas.kernels._selection import Selection, need_own_kernels
from torchada.redirect.context import Context
from torchada.redirect.engine import Patch, Skip

if TYPE_CHECKING:
    from torch._C import DispatchKeySet

_NAMES = (
    *(f"fft_{name}{overload}" for name in ("fft", "ifft", "rfft", "irfft") for overload in ("", ".out")),
    *("stft", "stft.center"),
)
_DEVICE, _AUTOGRAD = "PrivateUse1", "AutogradPrivateUse1"


def patches(context: Context) -> Iterator[Patch]:
    need_own_kernels(context)
    has_kernel = context.torch._C._dispatch_has_kernel_for_dispatch_key
    lacking = [name for name in _NAMES if has_kernel(f"aten::{name}", _DEVICE)]
    lacking = [name for name in lacking if not has_kernel(f"aten::{name}", _AUTOGRAD)]
    if not lacking:
        raise Skip(f"{context.backend.adapter}'s transforms have gradients")
    kernels = Selection(context)
    for name in lacking:
        to = "what PyTorch composes it of"
        yield Patch(kernels, name, _Composed(context.torch, name), None, "emulated", to, note=f"aten::{name}")


class _Composed:
    key = _AUTOGRAD

    def __init__(self, torch: Any, name: str) -> None:
        self._torch, self._name = torch, name

    @cached_property
    def _operator(self) -> Any:
        return overload(self._torch, self._name)

    def __call__(self, keys: DispatchKeySet, *args: Any, **kwargs: Any) -> Any:
        return self._operator.decompose(*args, **kwargs)
