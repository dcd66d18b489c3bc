"""Matrix products of slices, in double precision and of complex numbers.

torch_musa 2.7.1 tells BLAS the stride between rows alone, so `x[:, ::2] @ y` reads other elements (Matmul.cpp, BlasGEMM).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from torchada.areas.kernels._gates import gates
from torchada.areas.kernels._overloads import overload
from torchada.areas.kernels._selection import Kernel, Selection, need_own_kernels
from torchada.areas.kernels._verdicts import Function, Verdicts
from torchada.redirect.context import Context
from torchada.redirect.engine import Patch, Skip

if TYPE_CHECKING:
    from torch import Tensor


def patches(context: Context) -> Iterator[Patch]:
    need_own_kernels(context)
    if not context.settings.all_dtypes:
        raise Skip("TORCHADA_ALL_DTYPES=0 leaves them to the backend")
    kernels, verdicts = Selection(context), Verdicts(context)
    for name in ("mm", "mm.out"):
        product = _Product(context.torch, name)
        kernel = _Sliced(context, name, product, product.is_right, verdicts)
        to = f"copies, where {context.backend.adapter}'s kernel is not right"
        yield Patch(kernels, name, kernel, None, "emulated", to, note=f"aten::{name} of slices")


class _Sliced(Kernel):
    rule = gates.SLICED

    def concerns(self, *args: Any, **kwargs: Any) -> bool:
        return not all(self._is_plain(matrix) for matrix in args)

    def _is_plain(self, matrix: Tensor) -> bool:
        if matrix.layout != self._context.torch.strided or matrix.element_size() < 8 or matrix.is_contiguous():
            return True
        if matrix.dim() != 2:
            return True  # the kernel says so
        rows, columns = matrix.stride()
        return columns == 1 or (rows == 1 and columns == matrix.shape[0])


class _Product:
    def __init__(self, torch: Any, name: str) -> None:
        self._torch, self._has_out = torch, name.endswith(".out")
        self._operator = overload(torch, name)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._operator(*(matrix.contiguous() for matrix in args), **kwargs)

    def is_right(self, kernel: Function, device: Any) -> bool:
        torch = self._torch
        x, y = torch.arange(12.0, dtype=torch.float64).reshape(3, 4)[:, ::2], torch.eye(2, dtype=torch.float64)
        wanted = x.contiguous() @ y
        out = {"out": torch.empty_like(wanted, device=device)} if self._has_out else {}
        there = torch.arange(12.0, dtype=torch.float64, device=device).reshape(3, 4)[:, ::2]
        return bool(torch.equal(kernel(there, y.to(device), **out).cpu(), wanted))
