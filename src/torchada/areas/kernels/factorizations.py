"""torch.linalg.lu and lu_factor without pivoting, which the kernels of CUDA take and torch_musa 2.7.1's refuse.

A column is eliminated after another, on the device, so that it is as exact as without pivoting it can be, and graphs capture it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from torchada.areas.kernels._selection import Refusing, Selection, need_own_kernels
from torchada.areas.kernels._substitutes import elsewhere
from torchada.redirect.context import Context
from torchada.redirect.engine import Patch

if TYPE_CHECKING:
    from torch import Tensor

    Function = Callable[..., Any]

_FACTOR, _LU = "linalg_lu_factor_ex", "linalg_lu"


def patches(context: Context) -> Iterator[Patch]:
    need_own_kernels(context)
    kernels, without = Selection(context), _WithoutPivoting(context.torch)
    computed: dict[str, Function] = {
        _FACTOR: without.factor,
        f"{_FACTOR}.out": _into(without.factor, "LU", "pivots", "info"),
        _LU: without.lu,
        f"{_LU}.out": _into(without.lu, "P", "L", "U"),
    }
    to = f"elimination on the device, where {context.backend.adapter}'s kernel refuses to go without pivoting"
    for name, function in computed.items():
        kernel = Refusing(context, name, _of_either_kind(function, elsewhere(context, name)))
        yield Patch(kernels, name, kernel, None, "emulated", to, note=f"aten::{name} without pivoting")


def _of_either_kind(without: Function, pivoting: Function) -> Function:
    """A data type that was refused without pivoting may come again with it."""

    def compute(A: Tensor, *, pivot: bool = True, **options: Any) -> Any:
        return pivoting(A, pivot=True, **options) if pivot else without(A, **options)

    return compute


def _into(compute: Function, *names: str) -> Function:
    def write(*args: Any, **options: Any) -> Any:
        given = [options.pop(name) for name in names]
        for place, result in zip(given, compute(*args, **options)):
            if place.dtype != result.dtype:
                raise RuntimeError(f"a result of {result.dtype} is not written to a tensor of {place.dtype}")
            place.resize_(result.shape).copy_(result)
        return tuple(given)

    return write


class _WithoutPivoting:
    def __init__(self, torch: Any) -> None:
        self._torch = torch

    def factor(self, A: Tensor, check_errors: bool = False) -> tuple[Tensor, Tensor, Tensor]:
        self._check(A, "torch.lu_factor")
        torch, steps = self._torch, min(A.shape[-2:])
        factors = self._eliminated(A)
        pivots = torch.arange(1, steps + 1, dtype=torch.int32, device=A.device).expand(*A.shape[:-2], steps)
        info = self._first_zero(factors.diagonal(dim1=-2, dim2=-1))
        if check_errors:
            torch._C._VariableFunctions._linalg_check_errors(info, "torch.linalg.lu_factor_ex", is_matrix=A.dim() == 2)
        return factors, pivots.contiguous(), info

    def lu(self, A: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        self._check(A, "linalg.lu")
        torch, steps = self._torch, min(A.shape[-2:])
        factors = self._eliminated(A)
        unit = torch.eye(A.shape[-2], steps, dtype=A.dtype, device=A.device)
        permutation = torch.empty(0, dtype=A.dtype, device=A.device)
        lower, upper = factors[..., :steps].tril(-1) + unit, factors[..., :steps, :].triu()
        return permutation, lower.contiguous(), upper.contiguous()

    def _check(self, A: Tensor, name: str) -> None:
        """As PyTorch's. The program reads in the words of the kernel that was asked first what it cannot compute."""
        if A.dim() < 2:
            raise RuntimeError(f"{name}: Expected tensor with 2 or more dimensions. Got size: {list(A.shape)} instead")
        if A.dtype not in (self._torch.float32, self._torch.float64, self._torch.complex64, self._torch.complex128):
            raise NotImplementedError(f"no factors of {A.dtype}, on CUDA neither")

    def _eliminated(self, A: Tensor) -> Tensor:
        """L below the diagonal, and U."""
        # A column after another in memory, as on CUDA.
        factors: Tensor = A.mT.clone(memory_format=self._torch.contiguous_format).mT
        for i in range(min(A.shape[-2] - 1, A.shape[-1])):
            below = factors[..., i + 1 :, i : i + 1]
            below /= factors[..., i : i + 1, i : i + 1]
            factors[..., i + 1 :, i + 1 :] -= below * factors[..., i : i + 1, i + 1 :]
        return factors

    def _first_zero(self, diagonal: Tensor) -> Tensor:
        """For each matrix, where the first zero stands, counted from 1; 0 for none."""
        torch = self._torch
        if diagonal.shape[-1] == 0:
            none: Tensor = torch.zeros(diagonal.shape[:-1], dtype=torch.int32, device=diagonal.device)
            return none
        is_zero = (diagonal == 0).int()
        return ((is_zero.argmax(-1) + 1) * is_zero.amax(-1)).int()
