"""Cumulative sums and products into a tensor that is not contiguous: torch_musa 2.7.1 writes them to a copy (Cumulative.cpp)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from torchada.areas.kernels._gates import gates
from torchada.areas.kernels._overloads import overload
from torchada.areas.kernels._selection import Kernel, Selection, need_own_kernels
from torchada.areas.kernels._verdicts import Function, Verdicts
from torchada.redirect.context import Context
from torchada.redirect.engine import Patch

if TYPE_CHECKING:
    from torch import Tensor


def patches(context: Context) -> Iterator[Patch]:
    need_own_kernels(context)
    kernels, verdicts = Selection(context), Verdicts(context)
    for name in ("cumsum_", "cumsum.out", "cumprod_", "cumprod.out"):
        written = _Written(context.torch, name)
        kernel = _Scattered(context, name, written, written.is_right, verdicts)
        to = f"a copy, where {context.backend.adapter}'s kernel does not write"
        yield Patch(kernels, name, kernel, None, "emulated", to, note=f"aten::{name} of what is not contiguous")


class _Scattered(Kernel):
    rule = gates.SCATTERED

    def concerns(self, *args: Any, **kwargs: Any) -> bool:
        return not kwargs.get("out", args[0]).is_contiguous()


class _Written:
    def __init__(self, torch: Any, name: str) -> None:
        self._torch, self._name, self._has_out = torch, name, name.endswith(".out")

    @property
    def _function(self) -> Any:
        return overload(self._torch, self._name.removesuffix(".out").removesuffix("_"))

    def __call__(self, self_: Tensor, dim: int, *, dtype: Any = None, out: Tensor | None = None) -> Tensor:
        if out is None:
            return self_.copy_(self._function(self_, dim, dtype=dtype or self_.dtype))
        result = self._function(self_, dim, dtype=dtype or out.dtype)
        # A size that is right is left alone, and so are its strides.
        return (out if out.shape == result.shape else out.resize_(result.shape)).copy_(result)

    def is_right(self, kernel: Function, device: Any) -> bool:
        torch = self._torch
        x = torch.tensor([2.0, 0.0, 1.0, 0.0], device=device)[::2]
        out = {"out": torch.zeros(4, device=device)[::2]} if self._has_out else {}
        kernel(x, 0, **out)
        wanted = self._function(torch.tensor([2.0, 1.0]), 0)
        return bool(torch.equal(out.get("out", x).cpu(), wanted))
