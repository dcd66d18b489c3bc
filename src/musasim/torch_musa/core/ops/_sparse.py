"""Products of batches of compressed sparse matrices, which torch_musa registers since 2.9.1, as CUDA; the CPU has none."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from musasim.base import release

_library: Any = torch.library.Library("aten", "IMPL")  # type: ignore[no-untyped-call]


def _bmm_out(self: Tensor, mat2: Tensor, *, out: Tensor) -> Tensor:
    return out.copy_(_product(self, mat2))


def _baddbmm_out(
    self: Tensor, batch1: Tensor, batch2: Tensor, *, beta: float = 1, alpha: float = 1, out: Tensor
) -> Tensor:
    """One matrix, too, as the vendor's test has it. What is added is not read if it counts for nothing."""
    product = alpha * _product(batch1, batch2)
    return out.copy_(product if beta == 0 else beta * self + product)


def _product(left: Tensor, right: Tensor) -> Tensor:
    if left.layout != torch.sparse_csr or right.layout != torch.strided:
        raise RuntimeError(f"Expected a CSR matrix and a dense one, but got {left.layout} and {right.layout}")
    return left.to_dense() @ right


_KERNELS: dict[str, Any] = {"bmm.out": _bmm_out, "baddbmm.out": _baddbmm_out}

if release.since("2.9.1"):
    for _name, _kernel in _KERNELS.items():
        if not torch._C._dispatch_has_kernel_for_dispatch_key(f"aten::{_name}", "SparseCsrPrivateUse1"):
            _library.impl(_name, _kernel, "SparseCsrPrivateUse1")
