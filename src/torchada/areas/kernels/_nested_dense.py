"""Sums and products of a nested tensor of the strided layout and an ordinary one, which PyTorch has for CUDA alone.

CUDA computes `[B, *, D]` with `[B, 1, D]` and `[B, *]` with `[B, 1]`, sums and products, and any operation of `[B, C, *, *]` with
`[C, 1, 1]`. Everything else is refused, as there.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

from torchada.areas.kernels._fallbacks import with_tensors
from torchada.areas.kernels._overloads import overload

if TYPE_CHECKING:
    from torch import Tensor
    from torch._C import DispatchKeySet

ON_ANY_DEVICE = "NestedTensorCPU"
_BY_ROWS = ("add", "mul")
_BY_PARTS = (*_BY_ROWS, "sub", "div")


def operations(torch: Any, key: str) -> dict[str, Any]:
    """Kernels by the name of their operator, for the key of nested tensors."""
    return {f"{name}.Tensor": _Operation(torch, key, name) for name in _BY_PARTS}


class _Operation:
    def __init__(self, torch: Any, key: str, name: str) -> None:
        self.key = key
        self._torch, self._name = torch, name
        self._keys = torch._C.DispatchKeySet(getattr(torch._C.DispatchKey, ON_ANY_DEVICE))

    @cached_property
    def _operator(self) -> Any:
        return overload(self._torch, f"{self._name}.Tensor")

    def __call__(self, keys: DispatchKeySet, one: Any, other: Any, **options: Any) -> Any:
        one, other = with_tensors(self._torch, self._operator, (one, other))
        if not one.is_nested or other.is_nested or not other.dim():
            return self._operator.redispatch(self._keys, one, other, **options)
        return self._with_dense(one, other, **options)

    def _with_dense(self, nested: Tensor, dense: Tensor, **options: Any) -> Tensor:
        sizes = nested._nested_tensor_size()
        if self._name in _BY_ROWS and _has_a_row_for_each(nested, dense, sizes):
            return self._by_rows(nested, dense, sizes, **options)
        is_of_channels = nested.dim() == 4 and dense.dim() == 3 and dense.shape[1:] == (1, 1)
        if is_of_channels and (sizes[:, 0] == dense.size(0)).all():
            parts = [self._operator(tensor, dense, **options) for tensor in nested.unbind()]
            of_parts: Tensor = self._torch._nested_tensor_from_tensor_list(parts)
            return of_parts
        # PyTorch's words.
        raise RuntimeError(
            "Expected both self and other to be nested, but got a nested self and non-nested other for op: "
            f"{self._name}."
        )

    def _by_rows(self, nested: Tensor, dense: Tensor, sizes: Tensor, **options: Any) -> Tensor:
        part = self._torch.arange(len(sizes)).repeat_interleave(sizes[:, 0])
        rows = dense.flatten(1)[part.to(dense.device)]
        values = nested.contiguous().values().reshape(rows.shape)
        return like(nested, self._operator(values, rows, **options))


def _has_a_row_for_each(nested: Tensor, dense: Tensor, sizes: Tensor) -> bool:
    alike = nested.dim() == dense.dim() in (2, 3) and len(sizes) == dense.size(0) and dense.size(1) == 1
    return bool(alike and (nested.dim() == 2 or (sizes[:, 1] == dense.size(2)).all()))


def like(nested: Tensor, values: Tensor) -> Tensor:
    """A nested tensor of the sizes of `nested` that has these values in its buffer."""
    made = nested.contiguous().clone()
    made.values().copy_(values.flatten())
    return made
