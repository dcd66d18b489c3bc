"""Matrix products of slices in double precision, of which torch_musa 2.7.1's kernel reads other elements."""

from __future__ import annotations

import pytest
import torch

from support.interpreter import Interpreter

PRODUCTS = """
import torch
torch.manual_seed(0)
for dtype in (torch.float64, torch.complex64, torch.complex128, torch.float32):
    x = torch.randn(6, 8, dtype=dtype)
    for take in (
        lambda x: (x[:, ::2], x[:4, 1:6]),
        lambda x: (x[:, :4].T, x[:, :4]),
        lambda x: (x[::2], x.T),
        lambda x: (x[:1, :1].expand(3, 6), x[:, 3:]),
        lambda x: (x[:, :1], x[:1, ::3]),
        lambda x: (x.T, x),
    ):
        wanted, there = torch.mm(*take(x)), take(x.cuda())
        torch.testing.assert_close((there[0] @ there[1]).cpu(), wanted)
        torch.testing.assert_close(torch.mm(*there, out=torch.empty_like(wanted, device="cuda")).cpu(), wanted)
"""


SPARSE = """
import torch
a, b = torch.eye(3, dtype=torch.float64).to_sparse_csr(), torch.ones(3, 2, dtype=torch.float64)
torch.testing.assert_close((a.cuda() @ b.cuda()).cpu(), a @ b)
"""


@pytest.mark.parametrize("shape", [(8,), (2, 4, 8)])
def test_what_is_no_matrix_is_refused(shape: tuple[int, ...]) -> None:
    x = torch.ones(shape, dtype=torch.float64, device="cuda")[..., ::2]
    with pytest.raises(RuntimeError, match="must be a matrix"):
        torch.mm(x, torch.ones(4, 4, dtype=torch.float64, device="cuda"))


@pytest.mark.full
def test_products_of_sparse_matrices_have_no_strides(musa: Interpreter) -> None:
    musa.run(SPARSE, forked=True)


@pytest.mark.full
def test_products_of_slices(musa: Interpreter) -> None:
    musa.run(PRODUCTS, forked=True)
