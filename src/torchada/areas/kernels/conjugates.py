"""Products of complex matrices whose conjugation is only noted, as in `a.mH @ b`, and the gradient of every complex product.

PyTorch hands such tensors to the kernels of matrix products, because CUDA's conjugate while they read. torch_musa 2.7.1's do not
look (Matmul.cpp). These kernels run for such tensors alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property, partial
from typing import Any

from torchada.areas.kernels._overloads import overload
from torchada.areas.kernels._selection import Kernel, Selection, need_own_kernels
from torchada.areas.kernels._verdicts import Function, Verdicts
from torchada.redirect.context import Context
from torchada.redirect.engine import Patch

# By the number of dimensions of their operands.
_PRODUCTS = {"vdot": 1, "mm": 2, "mm.out": 2, "bmm": 3, "bmm.out": 3}


def patches(context: Context) -> Iterator[Patch]:
    need_own_kernels(context)
    kernels, verdicts = Selection(context), Verdicts(context)
    to = f"conjugated copies, where {context.backend.adapter}'s kernel is not right"
    for name, dimensions in _PRODUCTS.items():
        product = _Product(context.torch, name, dimensions)
        kernel = Kernel(context, name, product, partial(product.is_right), verdicts, key="Conjugate")
        yield Patch(kernels, name, kernel, None, "emulated", to, note=f"aten::{name} of conjugated tensors")


class _Product:
    def __init__(self, torch: Any, name: str, dimensions: int) -> None:
        self._torch, self._name, self._dimensions, self._has_out = torch, name, dimensions, name.endswith(".out")

    @cached_property
    def _operator(self) -> Any:
        return overload(self._torch, self._name)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        given, out = [argument.resolve_conj() for argument in args], kwargs.get("out")
        if out is None or not out.is_conj():
            return self._operator(*given, **kwargs)
        product = self._operator(*given, out=self._torch.empty_like(out).resolve_conj())
        return out.resize_(product.shape).copy_(product)

    def is_right(self, kernel: Function, device: Any) -> bool:
        """Whether conj(i) * i is 1 and not -1, as without the conjugation; -1 and not 1 for vdot, which conjugates once more.

        Of tensors with gaps, too: 2.11.0's bmm looks at the conjugation of contiguous and transposed matrices alone.
        """
        torch, dimensions = self._torch, self._dimensions
        dense = torch.full([2] * dimensions, 1j, device=device)
        with_gaps = torch.full([*[2] * (dimensions - 1), 4], 1j, device=device)[..., ::2]
        wanted = -2 if dimensions == 1 else 2
        for a in (dense, with_gaps):
            out = {"out": torch.empty_like(dense)} if self._has_out else {}
            if not bool((kernel(a.conj(), a, **out).cpu() == wanted).all()):
                return False
        return True
