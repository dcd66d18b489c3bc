"""torch.cuda.sparse.FloatTensor and its sisters."""

from __future__ import annotations

from typing import Any

import pytest
import torch


@pytest.mark.parametrize(("name", "dtype"), [("FloatTensor", torch.float32), ("LongTensor", torch.int64)])
def test_sparse_constructors(name: str, dtype: torch.dtype) -> None:
    kind = getattr(torch.cuda.sparse, name)
    x = kind(torch.tensor([[0, 1], [2, 0]], device="cuda"), torch.tensor([3, 4], dtype=dtype, device="cuda"), (2, 3))
    assert x.is_sparse and x.is_cuda and x.dtype == dtype and x.shape == (2, 3)
    assert x.to_dense().tolist() == [[0, 0, 3], [4, 0, 0]]
    assert isinstance(x, kind)
    assert not isinstance(x.cpu(), kind) and not isinstance(x.to_dense(), kind)


def test_indices_and_values_on_the_cpu_stay_there() -> None:
    """Read off an NVIDIA GPU (torch 2.11.0)."""
    x = torch.cuda.sparse.FloatTensor(torch.tensor([[0, 1], [2, 0]]), torch.tensor([3.0, 4.0]), (2, 3))
    assert x.is_sparse and not x.is_cuda and x.to_dense().tolist() == [[0, 0, 3], [4, 0, 0]]


@pytest.mark.parametrize(
    ("sizes", "shape"), [((2, 3), (2, 3)), ((torch.Size([2, 3]),), (2, 3)), ((), (0,))], ids=["numbers", "size", "none"]
)
def test_an_empty_one_by_its_sizes(sizes: tuple[Any, ...], shape: tuple[int, ...]) -> None:
    """As torch.sparse.FloatTensor, which is the same code of torch for the CPU."""
    x = torch.cuda.sparse.FloatTensor(*sizes)
    assert x.shape == shape and x._nnz() == 0 and x.is_cuda
