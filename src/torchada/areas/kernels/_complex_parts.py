"""Operators of complex tensors, composed on the device of those of their real and imaginary parts, or of products and comparisons.

Numbers stand where PyTorch has made one of a tensor for the call of a Python function.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from torch import Tensor, dtype

    Dims = int | Sequence[int] | None

# Those that write to their first argument by themselves.
_WRITING = ("_index_put_impl_", "masked_scatter_")


def composed(torch: Any, name: str) -> Any:
    """What computes the operator `name` of aten of complex tensors; None for those that are left to the CPU."""
    packet = name.partition(".")[0]
    function = getattr(_Parts(torch), packet if packet in _WRITING else packet.removesuffix("_"), None)
    return None if function is None else _Composed(torch, function, packet.endswith("_") and packet not in _WRITING)


class _Composed:
    def __init__(self, torch: Any, function: Any, writes: bool) -> None:
        self._function, self._writes = function, writes
        self._torch = torch

    def __call__(self, *args: Any, out: Tensor | None = None, **kwargs: Any) -> Any:
        result: Tensor = self._function(*args, **kwargs)
        out = args[0] if self._writes else out
        if out is None:
            return result
        self._check(result, out)
        return (out if out.shape == result.shape else out.resize_(result.shape)).copy_(result)

    def _check(self, result: Tensor, out: Tensor) -> None:
        if result.is_complex() and not out.is_complex():  # a copy would drop the imaginary part
            of_nothing = (self._torch.empty(0, dtype=tensor.dtype) for tensor in (result, out))
            self._torch.add(next(of_nothing), 0, out=next(of_nothing))  # raises, in PyTorch's words


class _Parts:
    """By the names of operators."""

    def __init__(self, torch: Any) -> None:
        self._torch, self._aten = torch, torch.ops.aten

    def _of(self, value: Any, kind: dtype, device: Any) -> Tensor:
        """The parts of a tensor or a number, as the last dimension."""
        torch = self._torch
        if not isinstance(value, torch.Tensor):
            value = torch.scalar_tensor(value, dtype=kind, device=device)
        parts: Tensor = torch.view_as_real(value.to(device, kind))
        return parts

    def _joined(self, parts: Tensor) -> Tensor:
        joined: Tensor = self._torch.view_as_complex(parts.contiguous())
        return joined

    # reductions

    def sum(self, x: Tensor, dim: Dims = None, keepdim: bool = False, *, dtype: dtype | None = None) -> Tensor:
        x = x if dtype is None else x.to(dtype)
        dims = _dims(x, dim)
        return self._joined(self._torch.view_as_real(x).sum(dims, keepdim)) if x.dim() else x.clone()

    def mean(self, x: Tensor, dim: Dims = None, keepdim: bool = False, *, dtype: dtype | None = None) -> Tensor:
        x = x if dtype is None else x.to(dtype)
        dims = _dims(x, dim)
        return self._joined(self._torch.view_as_real(x).mean(dims, keepdim)) if x.dim() else x.clone()

    def cumsum(self, x: Tensor, dim: int, *, dtype: dtype | None = None) -> Tensor:
        x = x if dtype is None else x.to(dtype)
        dims = _dims(x, dim)
        return self._joined(self._torch.view_as_real(x).cumsum(*dims)) if x.dim() else x.clone()

    def any(self, x: Tensor, *dims: Any, **named: Any) -> Tensor:
        result: Tensor = self._torch.any(self._is_nonzero(x), *dims, **named)
        return result

    def all(self, x: Tensor, *dims: Any, **named: Any) -> Tensor:
        result: Tensor = self._torch.all(self._is_nonzero(x), *dims, **named)
        return result

    # comparisons: of two tensors, torch_musa 2.7.1 has CUDA's kernel for `==`

    def eq(self, x: Tensor, y: Any) -> Tensor:
        torch = self._torch
        kind = torch.result_type(x, y)
        y = y.to(kind) if isinstance(y, torch.Tensor) else torch.scalar_tensor(y, dtype=kind, device=x.device)
        equal: Tensor = self._aten.eq.Tensor(x.to(kind), y)
        return equal

    def ne(self, x: Tensor, y: Any) -> Tensor:
        return self.eq(x, y).logical_not()

    def logical_not(self, x: Tensor) -> Tensor:
        return self.eq(x, 0)

    def logical_and(self, x: Tensor, y: Tensor) -> Tensor:
        return self._is_nonzero(x).logical_and(self._is_nonzero(y))

    def logical_or(self, x: Tensor, y: Tensor) -> Tensor:
        return self._is_nonzero(x).logical_or(self._is_nonzero(y))

    def logical_xor(self, x: Tensor, y: Tensor) -> Tensor:
        return self._is_nonzero(x).logical_xor(self._is_nonzero(y))

    def _is_nonzero(self, x: Tensor) -> Tensor:
        return self.ne(x, 0) if x.is_complex() else x

    # products

    def addmm(self, x: Tensor, a: Tensor, b: Tensor, *, beta: Any = 1, alpha: Any = 1) -> Tensor:
        return self._added(x, self._torch.mm(a, b), beta, alpha)

    def addmv(self, x: Tensor, a: Tensor, b: Tensor, *, beta: Any = 1, alpha: Any = 1) -> Tensor:
        return self._added(x, self.mv(a, b), beta, alpha)

    def _added(self, x: Tensor, product: Tensor, beta: Any, alpha: Any) -> Tensor:
        product = product if alpha == 1 else product * alpha
        # What is multiplied by 0 counts for nothing, nan neither.
        return product if beta == 0 else product + (x if beta == 1 else x * beta)

    def mv(self, a: Tensor, b: Tensor) -> Tensor:
        product: Tensor = self._torch.mm(a, b.unsqueeze(1)).squeeze(1)
        return product

    def dot(self, a: Tensor, b: Tensor) -> Tensor:
        if a.dim() != 1 or a.shape != b.shape or a.dtype != b.dtype:
            wrong: Tensor = self._torch.dot(a.cpu(), b.cpu())  # raises, in PyTorch's words
            return wrong
        return self.sum(a * b)

    def addcmul(self, x: Tensor, a: Tensor, b: Tensor, *, value: Any = 1) -> Tensor:
        product = a * b
        return x + (product if value == 1 else product * value)

    def sigmoid_backward(self, grad: Tensor, y: Tensor) -> Tensor:
        return grad * (y - y * y).conj()

    def tanh_backward(self, grad: Tensor, y: Tensor) -> Tensor:
        return grad * (1 - y * y).conj()

    # choosing elements: both parts alike

    def where(self, condition: Tensor, x: Any, y: Any) -> Tensor:
        torch = self._torch
        kind, device = torch.result_type(x, y), condition.device
        return self._joined(torch.where(condition.unsqueeze(-1), self._of(x, kind, device), self._of(y, kind, device)))

    def index(self, x: Tensor, indices: Sequence[Tensor | None]) -> Tensor:
        if x.dim() == 0:  # which a mask chooses, or not
            x, indices = x.reshape(1), [index if index is None else index.reshape(1) for index in indices]
        return self._joined(self._aten.index.Tensor(self._torch.view_as_real(x), list(indices)))

    def _index_put_impl_(
        self, x: Tensor, indices: Sequence[Tensor | None], values: Any, *how: bool, **named: bool
    ) -> Tensor:
        self._check_values(x, values)
        values = self._of(values, x.dtype, x.device)
        self._aten._index_put_impl_(self._torch.view_as_real(x), list(indices), values, *how, **named)
        return x

    def _check_values(self, x: Tensor, values: Any) -> None:
        torch = self._torch
        # One value of another type may fill what a mask chooses.
        if isinstance(values, torch.Tensor) and values.dtype != x.dtype and values.numel() != 1:
            of_nothing = (torch.empty(0, dtype=tensor.dtype) for tensor in (x, values))
            torch.index_put(next(of_nothing), [torch.empty(0, dtype=torch.int64)], next(of_nothing))  # raises, as above

    def index_select(self, x: Tensor, dim: int, index: Tensor) -> Tensor:
        if x.dim() == 0:
            return self.index_select(x.reshape(1), dim, index).reshape(())
        return self._joined(self._torch.view_as_real(x).index_select(*_dims(x, dim), index))

    def index_add(self, x: Tensor, dim: int, index: Tensor, source: Tensor, *, alpha: Any = 1) -> Tensor:
        source = source if alpha == 1 else source * alpha
        if x.dim() == 0:
            return self.index_add(x.reshape(1), dim, index.reshape(1), source.reshape(1)).reshape(())
        parts = self._torch.view_as_real(x).index_add(*_dims(x, dim), index, self._torch.view_as_real(source))
        return self._joined(parts)

    def masked_select(self, x: Tensor, mask: Tensor) -> Tensor:
        x, mask = self._torch.broadcast_tensors(x, mask)
        return self.index(x.reshape(-1), [mask.reshape(-1)])

    def masked_scatter_(self, x: Tensor, mask: Tensor, source: Tensor) -> Tensor:
        parts = self._torch.view_as_real(x)
        mask = mask.expand(x.shape).unsqueeze(-1).expand(parts.shape)
        parts.masked_scatter_(mask, self._torch.view_as_real(source))
        return x

    def scatter(self, x: Tensor, dim: int, index: Tensor, src: Any) -> Tensor:
        torch = self._torch
        if not isinstance(src, torch.Tensor):
            src = torch.full(index.shape, src, dtype=x.dtype, device=x.device)
        if x.dim() == 0:
            return self.scatter(x.reshape(1), dim, index.reshape(-1), src.reshape(-1)).reshape(())
        return self._joined(torch.view_as_real(x).scatter(*_dims(x, dim), _twice(index), torch.view_as_real(src)))

    def scatter_add(self, x: Tensor, dim: int, index: Tensor, src: Tensor) -> Tensor:
        if x.dim() == 0:
            return self.scatter_add(x.reshape(1), dim, index.reshape(-1), src.reshape(-1)).reshape(())
        parts = self._torch.view_as_real(x)
        return self._joined(parts.scatter_add(*_dims(x, dim), _twice(index), self._torch.view_as_real(src)))


def _dims(x: Tensor, dim: Dims) -> list[int]:
    """Those of a tensor that has one more, the last. A number counts as a tensor of one dimension, as in PyTorch's kernels."""
    if isinstance(dim, int):
        dim = [dim]
    rank = max(x.dim(), 1)
    for number in dim or ():
        if not -rank <= number < rank:
            expected = f"expected to be in range of [{-rank}, {rank - 1}], but got {number}"
            raise IndexError(f"Dimension out of range ({expected})")
    return [number % rank for number in dim or range(rank)]


def _twice(index: Tensor) -> Tensor:
    return index.unsqueeze(-1).expand(*index.shape, 2)
