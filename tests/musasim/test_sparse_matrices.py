"""muSPARSE's conversions, triangles and products of sparse matrices, against PyTorch on the CPU."""

from __future__ import annotations

import ctypes
from typing import Any

import pytest
import torch

from support.host_libraries import NUMBERS, Library, N, T

pytestmark = [pytest.mark.once, pytest.mark.filterwarnings("ignore:Sparse CSR tensor support")]

DENSE = torch.tensor([[4.0, 0, 1, 0], [0, 5, 0, 2], [3, 0, 6, 0], [0, 1, 0, 7]])
REAL = NUMBERS[torch.float]
ROW = 2  # MUSPARSE_ORDER_ROW


@pytest.fixture
def sparse(torch_musa: Any) -> Library:
    return Library("musparse")


@pytest.fixture
def handle(sparse: Library) -> ctypes.c_void_p:
    return sparse.handle("musparseCreate")


def sizes(*numbers: int) -> list[ctypes.c_longlong]:
    return [ctypes.c_longlong(number) for number in numbers]


def parts(matrix: torch.Tensor) -> list[torch.Tensor]:
    form = matrix.to_sparse_csr()
    return [form.crow_indices().int().to("musa"), form.col_indices().int().to("musa"), form.values().to("musa")]


def csr(sparse: Library, shape: torch.Size, stored: list[Any], nnz: int) -> ctypes.c_void_p:
    made = ctypes.c_void_p()
    sparse.must("musparseCreateCsr", ctypes.byref(made), *sizes(*shape, nnz), *stored, 2, 2, 0, REAL)
    made.stored = stored  # type: ignore[attr-defined]  # the matrix has only their addresses
    return made


def matrix(sparse: Library, dense: torch.Tensor) -> ctypes.c_void_p:
    made = ctypes.c_void_p()
    sparse.must("musparseCreateDnMat", ctypes.byref(made), *sizes(*dense.shape, dense.shape[1]), dense, REAL, ROW)
    return made


def vector(sparse: Library, dense: torch.Tensor) -> ctypes.c_void_p:
    made = ctypes.c_void_p()
    sparse.must("musparseCreateDnVec", ctypes.byref(made), *sizes(dense.numel()), dense, REAL)
    return made


def number_of_values(sparse: Library, made: ctypes.c_void_p) -> int:
    found = [ctypes.c_longlong() for _ in range(3)]
    sparse.must("musparseSpMatGetSize", made, *map(ctypes.byref, found))
    return found[2].value


def test_a_dense_matrix_becomes_sparse_and_dense_again(sparse: Library, handle: ctypes.c_void_p) -> None:
    given, offsets = DENSE.to("musa"), torch.full((5,), -1, dtype=torch.int32, device="musa")
    made = csr(sparse, DENSE.shape, [offsets, None, None], 0)
    sparse.must("musparseDenseToSparse_analysis", handle, matrix(sparse, given), made, 0, None)
    assert number_of_values(sparse, made) == 8
    columns, values = torch.empty(8, dtype=torch.int32, device="musa"), torch.empty(8, device="musa")
    sparse.must("musparseCsrSetPointers", made, offsets, columns, values)
    sparse.must("musparseDenseToSparse_convert", handle, matrix(sparse, given), made, 0, None)
    for stored, expected in zip((offsets, columns, values), parts(DENSE)):
        assert torch.equal(stored.cpu(), expected.cpu())
    again = torch.full((4, 4), -1.0, device="musa")
    sparse.must("musparseSparseToDense", handle, made, matrix(sparse, again), 0, None)
    assert torch.equal(again.cpu(), DENSE)


def test_a_matrix_by_columns_is_its_transpose_by_rows(sparse: Library, handle: ctypes.c_void_p) -> None:
    values, offsets = torch.empty(8, device="musa"), torch.empty(5, dtype=torch.int32, device="musa")
    rows = torch.empty(8, dtype=torch.int32, device="musa")
    first, second, third = parts(DENSE)
    sparse.must("musparseCsr2cscEx2", handle, 4, 4, 8, third, first, second, values, offsets, rows, REAL, 1, 0, 1, None)
    for stored, expected in zip((offsets, rows, values), parts(DENSE.mT.contiguous())):
        assert torch.equal(stored.cpu(), expected.cpu())


def test_columns_are_sorted_with_their_places(sparse: Library, handle: ctypes.c_void_p) -> None:
    offsets = torch.tensor([0, 3, 5], dtype=torch.int32).to("musa")
    columns = torch.tensor([2, 0, 1, 3, 0], dtype=torch.int32).to("musa")
    places = torch.empty(5, dtype=torch.int32, device="musa")
    described = sparse.handle("musparseCreateMatDescr")
    sparse.must("musparseCreateIdentityPermutation", handle, 5, places)
    sparse.must("musparseXcsrsort", handle, 2, 4, 5, described, offsets, columns, places, None)
    assert columns.tolist() == [0, 1, 2, 0, 3]
    assert places.tolist() == [1, 2, 0, 4, 3]


@pytest.mark.parametrize("upper", [0, 1])
@pytest.mark.parametrize("op", [N, T])
def test_triangles_are_solved(sparse: Library, handle: ctypes.c_void_p, upper: int, op: int) -> None:
    made, mode, one = csr(sparse, DENSE.shape, parts(DENSE), 8), ctypes.c_int(upper), torch.tensor(2.0)
    sparse.must("musparseSpMatSetAttribute", made, 0, ctypes.byref(mode), ctypes.c_size_t(4))
    x, y = torch.arange(1.0, 5).to("musa"), torch.empty(4, device="musa")
    triangle = DENSE.triu() if upper else DENSE.tril()
    triangle = triangle.mT if op == T else triangle
    description = sparse.handle("musparseSpSV_createDescr")
    arguments = [handle, op, one, made, vector(sparse, x), vector(sparse, y), REAL, 0, description]
    sparse.must("musparseSpSV_analysis", *arguments, None)
    sparse.must("musparseSpSV_solve", *arguments)
    torch.testing.assert_close(triangle @ y.cpu(), 2 * x.cpu())
    b, c = torch.arange(8.0).view(4, 2).to("musa"), torch.empty(4, 2, device="musa")
    description = sparse.handle("musparseSpSM_createDescr")
    arguments = [handle, op, N, one, made, matrix(sparse, b), matrix(sparse, c), REAL, 0, description]
    sparse.must("musparseSpSM_solve", *arguments)
    torch.testing.assert_close(triangle @ c.cpu(), 2 * b.cpu())


def test_products_of_two_sparse_matrices(sparse: Library, handle: ctypes.c_void_p) -> None:
    other = torch.tensor([[0.0, 1, 0], [0, 0, 2], [3, 0, 0], [0, 0, 0]])
    a, b = csr(sparse, DENSE.shape, parts(DENSE), 8), csr(sparse, other.shape, parts(other), 3)
    offsets = torch.empty(5, dtype=torch.int32, device="musa")
    c, size = csr(sparse, torch.Size((4, 3)), [offsets, None, None], 0), ctypes.c_size_t()
    one, zero = torch.tensor(1.0), torch.tensor(0.0)
    description = sparse.handle("musparseSpGEMM_createDescr")
    arguments = [handle, N, N, one, a, b, zero, c, REAL, 0, description]
    sparse.must("musparseSpGEMM_compute", *arguments, ctypes.byref(size), None)
    expected = DENSE @ other
    assert number_of_values(sparse, c) == int((expected != 0).sum())
    columns = torch.empty(number_of_values(sparse, c), dtype=torch.int32, device="musa")
    values = torch.empty(columns.numel(), device="musa")
    sparse.must("musparseCsrSetPointers", c, offsets, columns, values)
    sparse.must("musparseSpGEMM_copy", *arguments)
    made = torch.sparse_csr_tensor(offsets.cpu(), columns.cpu(), values.cpu(), (4, 3))
    assert torch.equal(made.to_dense(), expected)


def test_a_product_of_dense_matrices_at_the_places_of_a_sparse_one(sparse: Library, handle: ctypes.c_void_p) -> None:
    left, right = torch.arange(8.0).view(4, 2).to("musa"), torch.arange(8.0).view(2, 4).to("musa")
    stored, half, two = parts(DENSE), torch.tensor(0.5), torch.tensor(2.0)
    made = csr(sparse, DENSE.shape, stored, 8)
    sparse.must(
        "musparseSDDMM", handle, N, N, half, matrix(sparse, left), matrix(sparse, right), two, made, REAL, 0, None
    )
    expected = (left.cpu() @ right.cpu() / 2 + 2 * DENSE)[DENSE != 0]
    assert torch.equal(stored[2].cpu(), expected)


def test_sparse_vectors(sparse: Library, handle: ctypes.c_void_p) -> None:
    places, values = torch.tensor([4, 1], dtype=torch.int32).to("musa"), torch.tensor([10.0, 20.0]).to("musa")
    y, made = torch.arange(5.0).to("musa"), ctypes.c_void_p()
    sparse.must("musparseCreateSpVec", ctypes.byref(made), *sizes(5, 2), places, values, 2, 0, REAL)
    sparse.must("musparseAxpby", handle, torch.tensor(2.0), made, torch.tensor(3.0), vector(sparse, y))
    assert y.tolist() == [0, 43, 6, 9, 32]
    sparse.must("musparseGather", handle, vector(sparse, y), made)
    assert values.tolist() == [32, 43]
    values.fill_(5)
    sparse.must("musparseScatter", handle, made, vector(sparse, y))
    assert y.tolist() == [0, 5, 6, 9, 5]
