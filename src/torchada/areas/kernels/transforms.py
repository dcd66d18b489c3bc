"""Gradients of torch.fft.fft, ifft, rfft, irfft and torch.stft, and their `out`; and all transforms of halves.

PyTorch composes these of operators that have gradients. torch_musa 2.7.1 registers kernels of its own in their place, through which
autograd passes nothing: there is a warning, and x.grad is None (SpectralOps.cpp, musa_functions.yaml). So autograd gets the
composition. PyTorch takes halves for CUDA's devices alone; here they are transformed in single precision.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING, Any

from torchada.areas.kernels._overloads import overload
from torchada.areas.kernels._selection import Refusing, Selection, need_own_kernels
from torchada.redirect.context import Context
from torchada.redirect.engine import Patch, Skip

if TYPE_CHECKING:
    from torch import Tensor
    from torch._C import DispatchKeySet

_NAMES = (*(f"fft_{name}.out" for name in ("fft", "ifft", "rfft", "irfft")), *("stft", "stft.center"))
_KINDS = ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft")
_OF_HALVES = tuple(f"fft_{kind}{dimensions}" for kind in _KINDS for dimensions in ("", "2", "n"))
_INTO_HALVES = tuple(f"{name}.out" for name in _OF_HALVES)
_DEVICE, _AUTOGRAD = "PrivateUse1", "AutogradPrivateUse1"


def patches(context: Context) -> Iterator[Patch]:
    need_own_kernels(context)
    has_kernel = context.torch._C._dispatch_has_kernel_for_dispatch_key
    lacking = [name for name in _NAMES if has_kernel(f"aten::{name}", _DEVICE)]
    every = dict.fromkeys((*_OF_HALVES, *_INTO_HALVES, *lacking))
    lacking = [name for name in every if not has_kernel(f"aten::{name}", _AUTOGRAD)]
    if not lacking:
        raise Skip(f"{context.backend.adapter}'s transforms have gradients")
    kernels, gates = Selection(context), Selection(context)
    for name in lacking:
        to, note = "what PyTorch composes it of", f"aten::{name}"
        composed = _Composed(context.torch, name)
        yield Patch(kernels, name, composed, None, "emulated", to, note=note)
        if name in _OF_HALVES or name in _INTO_HALVES:  # without autograd, as in inference mode
            kernel = Refusing(context, name, composed.of_halves)
            yield Patch(gates, name, kernel, None, "emulated", "single precision for halves", note=note)


class _Composed:
    key = _AUTOGRAD

    def __init__(self, torch: Any, name: str) -> None:
        self._torch, self._name = torch, name

    @cached_property
    def _operator(self) -> Any:
        return overload(self._torch, self._name)

    def __call__(self, keys: DispatchKeySet, *args: Any, **kwargs: Any) -> Any:
        if args[0].dtype in (self._torch.float16, self._torch.complex32):
            return self.of_halves(*args, **kwargs)
        return self._operator.decompose(*args, **kwargs)

    def of_halves(self, self_: Tensor, *args: Any, out: Tensor | None = None, **kwargs: Any) -> Tensor:
        torch = self._torch
        if self_.dtype not in (torch.float16, torch.complex32):
            raise NotImplementedError(f"no transform of {self_.dtype}, on CUDA neither")
        wide = self_.to(torch.complex64 if self_.is_complex() else torch.float32)
        transform = self._operator if out is None else overload(torch, self._name.removesuffix(".out"))
        transformed: Tensor = transform(wide, *args, **kwargs)
        narrow = transformed.to(torch.complex32 if transformed.is_complex() else torch.float16)
        return narrow if out is None else self._into(out, narrow)

    def _into(self, out: Tensor, result: Tensor) -> Tensor:
        if out.is_complex() != result.is_complex():
            wanted = "complex" if result.is_complex() else "floating point"
            raise RuntimeError(f"{self._name} expects a {wanted} output tensor, but got {out.dtype}")
        return (out if out.shape == result.shape else out.resize_(result.shape)).copy_(result)
