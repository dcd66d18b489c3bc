"""Sparse tensors: the operators that torch_musa 2.7.1 registers (musa_functions.yaml), and no others."""

# ruff: noqa: E402

from __future__ import annotations

import pytest

import musasim

musasim.install()

import torch
import torch_musa  # noqa: F401

from support.interpreter import Interpreter

pytestmark = [pytest.mark.once, pytest.mark.filterwarnings("ignore:Sparse ")]

DENSE = torch.tensor([[0, 2.0, 0], [3, 0, 4]])


def test_they_are_made_of_their_members_and_give_them_back() -> None:
    made = torch.sparse_coo_tensor(
        torch.tensor([[0, 1, 1], [2, 0, 0]]).musa(), torch.tensor([1.0, 2, 3]).musa(), (2, 3)
    )
    assert made.is_sparse and made.device == torch.device("musa", 0) and made._nnz() == 3 and made.sparse_dim() == 2
    found = made.coalesce()
    assert found.is_coalesced() and not made.is_coalesced()
    assert found.indices().tolist() == [[0, 1], [2, 0]] and found.values().tolist() == [1, 5]


def test_they_are_made_of_dense_ones() -> None:
    coo = DENSE.musa().to_sparse()
    assert coo.indices().tolist() == [[0, 1, 1], [1, 0, 2]] and coo.values().tolist() == [2, 3, 4]
    csr = coo.to_sparse_csr()
    assert csr.crow_indices().tolist() == [0, 1, 3] and csr.col_indices().tolist() == [1, 0, 2]
    assert csr.values().tolist() == [2, 3, 4] and csr._nnz() == 3
    assert csr.to_sparse().values().tolist() == [2, 3, 4]


MISSING = """
import json, warnings
import musasim
musasim.install()
import torch, torch_musa

warnings.simplefilter("ignore")
coo = torch.eye(3).musa().to_sparse()
raised = []
for made in (coo, coo.to_sparse_csr()):
    for work in (
        lambda: made.to_dense(), lambda: made @ torch.ones(3, 2, device="musa"), lambda: made + made,
        lambda: made.sqrt(), lambda: made.dense_dim(),
    ):
        try:
            work()
        except (NotImplementedError, RuntimeError) as error:
            raised.append(type(error).__name__)
print(json.dumps(raised))
"""


def test_other_operators_are_missing() -> None:
    """Without torchada, which computes them. 2.9.1 has them (test_later_operators.py)."""
    assert len(Interpreter(env={"TORCHADA_DISABLE": "1", "MUSASIM_RELEASE": "2.7.1"}).json(MISSING)) == 10
