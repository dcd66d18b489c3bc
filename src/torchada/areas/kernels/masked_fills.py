"""masked_fill of complex tensors: torch_musa 2.7.1 fills every element, whatever the mask says (Fill.cpp)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from torchada.areas.kernels._gates import gates
from torchada.areas.kernels._selection import Kernel, Selection, need_own_kernels
from torchada.areas.kernels._verdicts import Function, Verdicts
from torchada.redirect.context import Context
from torchada.redirect.engine import Patch

if TYPE_CHECKING:
    from torch import Tensor


def patches(context: Context) -> Iterator[Patch]:
    need_own_kernels(context)
    kernels, verdicts = Selection(context), Verdicts(context)
    # PyTorch composes masked_fill of these.
    for name in ("masked_fill_.Scalar", "masked_fill_.Tensor"):
        fill = _Fill(context.torch, by_tensor=name.endswith(".Tensor"))
        kernel = _Complex(context, name, fill, fill.is_right, verdicts)
        to = f"the real and the imaginary parts, where {context.backend.adapter}'s kernel is not right"
        yield Patch(kernels, name, kernel, None, "emulated", to, note=f"aten::{name} of complex tensors")


class _Complex(Kernel):
    rule = gates.COMPLEX

    def concerns(self, *args: Any, **kwargs: Any) -> bool:
        return bool(args[0].is_complex())


class _Fill:
    def __init__(self, torch: Any, by_tensor: bool) -> None:
        self._torch, self._by_tensor = torch, by_tensor

    def __call__(self, self_: Tensor, mask: Tensor, value: Any) -> Tensor:
        parts = self._torch.view_as_real(self_)
        for part, number in enumerate(self._parts(value)):
            parts.select(-1, part).masked_fill_(mask, number)
        return self_

    def _parts(self, value: Any) -> tuple[Any, Any]:
        if not isinstance(value, self._torch.Tensor):
            return complex(value).real, complex(value).imag
        if not value.is_complex():
            return value, 0
        real, imaginary = self._torch.view_as_real(value.resolve_conj()).unbind(-1)
        return real, imaginary

    def is_right(self, kernel: Function, device: Any) -> bool:
        torch = self._torch
        x, mask = torch.zeros(2, dtype=torch.complex64, device=device), torch.tensor([True, False], device=device)
        kernel(x, mask, torch.tensor(1j, device=device) if self._by_tensor else 1j)
        return bool(x.tolist() == [1j, 0])
