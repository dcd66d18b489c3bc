"""mm, bmm, addmm and baddbmm with `out_dtype`: products of half precision that are added up and returned in single precision.

PyTorch has these kernels for CUDA. Versions of torch_musa have none, or one that returns zeros without a word.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from torchada.areas.kernels._selection import Kernel, Selection
from torchada.areas.kernels._verdicts import Function, Probe, Verdicts
from torchada.redirect.context import Context
from torchada.redirect.engine import Patch, Skip

if TYPE_CHECKING:
    from torch import Tensor, dtype

# Each product, and whether something is added to it.
_PRODUCTS = {"mm": False, "bmm": False, "addmm": True, "baddbmm": True}


def patches(context: Context) -> Iterator[Patch]:
    torch = context.torch
    names = [name for name in _PRODUCTS if torch._C._dispatch_has_kernel(f"aten::{name}.dtype")]
    if not names:
        raise Skip(f"torch {torch.__version__} has no out_dtype")
    kernels, verdicts = Selection(context), Verdicts(context)
    for name in names:
        product = _Product(torch, name)
        for overload, replacement in {"dtype": product.new, "dtype_out": product.out}.items():
            kernel = Kernel(context, f"{name}.{overload}", replacement, product.probe(overload), verdicts)
            note = f"torch.{name}(..., out_dtype=)" + (" with out=" if overload == "dtype_out" else "")
            to = f"torch.{name} of the widened matrices, where {context.backend.adapter}'s kernel is not right"
            yield Patch(kernels, kernel.name, kernel, None, "emulated", to, since="torch 2.8", note=note)


class _Product:
    """One of the four operators; some add a tensor, which stands in front of the matrices."""

    def __init__(self, torch: Any, name: str) -> None:
        self._torch, self._name, self._adds = torch, name, _PRODUCTS[name]
        self._compute: Callable[..., Tensor] = getattr(torch, name)

    def new(self, *args: Any, **factors: Any) -> Tensor:
        """The kernel of the overload `dtype`: ([added,] a, b, out_dtype, [beta, alpha])."""
        *tensors, out_dtype = args
        self._check(tensors, out_dtype)
        return self._compute(*(tensor.to(out_dtype) for tensor in tensors), **factors)

    def out(self, *args: Any, out: Tensor, **factors: Any) -> Tensor:
        """The kernel of the overload `dtype_out`."""
        *tensors, out_dtype = args
        if out.dtype != out_dtype:
            raise RuntimeError("out_dtype must be the same as the dtype of the provided out tensor")
        self._check(tensors, out_dtype)
        return self._compute(*(tensor.to(out_dtype) for tensor in tensors), **factors, out=out)

    def _check(self, tensors: list[Tensor], out_dtype: dtype) -> None:
        """The words of PyTorch's kernel for CUDA."""
        torch, (a, b) = self._torch, tensors[-2:]
        if a.dtype != b.dtype:
            raise RuntimeError(f"input dtypes must be the same, but got {a.dtype} and {b.dtype}")
        is_wider = out_dtype == torch.float32 and a.dtype in (torch.float16, torch.bfloat16)
        if out_dtype != a.dtype and not is_wider:
            raise RuntimeError("out_dtype must be the same as input dtype or fp32 for fp16/bf16 inputs")
        if self._adds and tensors[0].dtype not in (out_dtype, a.dtype):
            matrix = "mat1" if self._name == "addmm" else "batch1"
            raise RuntimeError(f"self dtype must match either out_dtype or {matrix} dtype")

    def probe(self, overload: str) -> Probe:
        """Whether a kernel gives numbers that only single precision holds: 90,000 is infinite in half precision."""

        def probe(kernel: Function, device: Any) -> bool:
            torch = self._torch
            for half in (torch.float16, torch.bfloat16):
                a = torch.tensor([[300.0, 1.0], [2.0, 256.0]], dtype=half, device=device)
                tensors = [a, a] if self._name in ("mm", "addmm") else [a[None], a[None]]
                added = [torch.ones_like(tensors[0], dtype=torch.float32)] if self._adds else []
                want = torch.tensor([[90002.0, 556.0], [1112.0, 65538.0]]) + len(added)
                given = {"out": torch.empty_like(tensors[0], dtype=torch.float32)} if overload == "dtype_out" else {}
                computed = kernel(*added, *tensors, torch.float32, **given)
                if computed.dtype != torch.float32 or not torch.equal(computed.cpu().reshape(2, 2), want):
                    return False
            return True

        return probe
