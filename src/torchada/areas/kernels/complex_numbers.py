"""Complex numbers, which torch_musa 2.7.1's kernels refuse where they call muDNN, and in indexing; CUDA's take them.

masked_fill of complex tensors fills every element there, whatever the mask says (Fill.cpp).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from torchada.areas.kernels._gates import gates
from torchada.areas.kernels._gates.operators import OF_COMPLEX
from torchada.areas.kernels._selection import Kernel, Late, Refusing, Selection, need_own_kernels
from torchada.areas.kernels._substitutes import elsewhere
from torchada.areas.kernels._verdicts import Function, Verdicts
from torchada.redirect.context import Context
from torchada.redirect.engine import Patch

if TYPE_CHECKING:
    from torch import Tensor
    from torch._C import DispatchKeySet


def patches(context: Context) -> Iterator[Patch]:
    need_own_kernels(context)
    kernels, verdicts, adapter = Selection(context), Verdicts(context), context.backend.adapter
    # PyTorch composes masked_fill of these.
    for name in ("masked_fill_.Scalar", "masked_fill_.Tensor"):
        fill = _Fill(context.torch, by_tensor=name.endswith(".Tensor"))
        kernel = _Complex(context, name, fill, fill.is_right, verdicts)
        to = f"the real and the imaginary parts, where {adapter}'s kernel is not right"
        yield Patch(kernels, name, kernel, None, "emulated", to, note=f"aten::{name} of complex tensors")
    if context.settings.all_dtypes:
        to = f"real and imaginary parts, or the CPU, where {adapter}'s kernel refuses complex numbers"
        note = "aten::* of complex tensors"
        yield Patch(Late(context), "complex numbers", _Refusing(context), None, "emulated", to, note=note)


class _Refusing:
    """The kernels that may refuse complex numbers."""

    def __init__(self, context: Context) -> None:
        self._context = context

    def __call__(self) -> Iterator[Refusing]:
        has_kernel = self._context.torch._C._dispatch_has_kernel
        for name in OF_COMPLEX:
            if has_kernel(f"aten::{name}"):
                yield _OfComplex(self._context, name, elsewhere(self._context, name))


class _OfComplex(Refusing):
    """All other calls are the backend's, with its errors."""

    rule = gates.REFUSED_COMPLEX

    def __call__(self, keys: DispatchKeySet, *args: Any, **kwargs: Any) -> Any:
        if any(self._is_complex(value) for value in (*args, *kwargs.values())):
            return super().__call__(keys, *args, **kwargs)
        return self._own(keys)(*args, **kwargs)

    def _is_complex(self, value: Any) -> bool:
        torch = self._context.torch
        if isinstance(value, torch.Tensor):
            return bool(value.is_complex())
        return isinstance(value, complex) or (isinstance(value, torch.dtype) and value.is_complex)


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
