"""The host APIs of muBLAS, muBLASLt, muSOLVER, muSPARSE, muFFT and muRAND, against PyTorch on the CPU."""

from __future__ import annotations

import ctypes
import json
import lzma
import subprocess
from pathlib import Path
from typing import Any

import pytest
import torch

from musasim import toolkit
from support.host_libraries import NUMBERS, TYPES, C, Library, N, T, back, columns

pytestmark = pytest.mark.once

# torch_musa's own sources call these, but its table of names lacks them.
CALLED_BY_TORCH_MUSA = {f"musolverDnC{name}{size}" for name in ("ungqr", "unmqr") for size in ("", "_bufferSize")}
LIBRARIES = ("mublas", "mublasLt", "musolver", "musparse", "mufft", "murand")


@pytest.fixture(scope="module")
def blas(torch_musa: Any) -> Library:
    return Library("mublas")


@pytest.fixture
def handle(blas: Library) -> Any:
    made = blas.handle("mublasCreate")
    yield made
    blas.must("mublasDestroy", made)


def transposed(matrix: torch.Tensor, op: int) -> torch.Tensor:
    return (matrix, matrix.mT, matrix.mH)[op]


@pytest.mark.parametrize("letter", TYPES)
@pytest.mark.parametrize(("opa", "opb"), [(N, N), (T, N), (N, C), (C, T)])
def test_products(blas: Library, handle: Any, letter: str, opa: int, opb: int) -> None:
    a, b, c = (torch.randn(4, 5, dtype=TYPES[letter]) for _ in range(3))
    a = torch.randn((4, 6) if opa == N else (6, 4), dtype=TYPES[letter])
    b = torch.randn((6, 5) if opb == N else (5, 6), dtype=TYPES[letter])
    alpha, beta = torch.tensor([1.5, -0.5], dtype=TYPES[letter])
    stored = [columns(each) for each in (a, b, c)]
    sizes = [each.shape[0] for each in (a, b, c)]
    blas.must(
        f"mublas{letter}gemm",
        handle,
        opa,
        opb,
        4,
        5,
        6,
        alpha,
        stored[0],
        sizes[0],
        stored[1],
        sizes[1],
        beta,
        stored[2],
        sizes[2],
    )
    torch.testing.assert_close(back(stored[2]), alpha * transposed(a, opa) @ transposed(b, opb) + beta * c)


@pytest.mark.parametrize("letter", TYPES)
def test_batches_of_products(blas: Library, handle: Any, letter: str) -> None:
    a, b = torch.randn(3, 4, 2, dtype=TYPES[letter]), torch.randn(3, 2, 5, dtype=TYPES[letter])
    one, none = torch.tensor([1, 0], dtype=TYPES[letter])
    stored, out = [columns(a), columns(b)], torch.full((3, 5, 4), float("nan"), dtype=TYPES[letter], device="musa")
    blas.must(
        f"mublas{letter}gemmStridedBatched",
        handle,
        N,
        N,
        4,
        5,
        2,
        one,
        stored[0],
        4,
        ctypes.c_longlong(8),
        stored[1],
        2,
        ctypes.c_longlong(10),
        none,
        out,
        4,
        ctypes.c_longlong(20),
        3,
    )
    torch.testing.assert_close(back(out), a @ b)
    places = [torch.tensor([each[i].data_ptr() for i in range(3)], device="musa") for each in (*stored, out.zero_())]
    blas.must(
        f"mublas{letter}gemmBatched", handle, N, N, 4, 5, 2, one, places[0], 4, places[1], 2, none, places[2], 4, 3
    )
    torch.testing.assert_close(back(out), a @ b)


@pytest.mark.parametrize(
    ("inside", "outside", "compute"),
    [
        (torch.half, torch.half, torch.float),
        (torch.bfloat16, torch.float, torch.float),
        (torch.half, torch.half, torch.half),
        (torch.int8, torch.int32, torch.int32),
        (torch.double, torch.double, torch.double),
    ],
)
def test_products_of_other_types(
    blas: Library, handle: Any, inside: torch.dtype, outside: torch.dtype, compute: torch.dtype
) -> None:
    a = (torch.randn(7, 300) * 40).to(inside)
    b = (torch.randn(300, 3) * (3 if inside == torch.int8 else 0.02)).to(inside)
    one, none = torch.tensor([1, 0], dtype=compute)
    out = torch.empty(3, 7, dtype=outside, device="musa")
    blas.must(
        "mublasGemmEx",
        handle,
        T,
        N,
        7,
        3,
        300,
        one,
        columns(a.mT),
        NUMBERS[inside],
        300,
        columns(b),
        NUMBERS[inside],
        300,
        none,
        out,
        NUMBERS[outside],
        7,
        NUMBERS[compute],
        -1,
    )
    torch.testing.assert_close(back(out), (a.double() @ b.double()).to(outside))


def test_a_type_of_computation_that_is_not_known_is_refused(blas: Library, handle: Any) -> None:
    x = torch.ones(1, device="musa")
    arguments = (handle, N, N, 1, 1, 1, x, x, 0, 1, x, 0, 1, x, x, 0, 1)
    assert blas("mublasGemmEx", *arguments, 3, -1) == 2
    assert blas("mublasSgemm", handle, N, N, 4, 4, 4, x, x, 1, x, 4, x, x, 4) == 4
    assert blas("mublasSgemm", None, N, N, 1, 1, 1, x, x, 1, x, 1, x, x, 1) == 1


@pytest.mark.parametrize("letter", TYPES)
def test_vectors(blas: Library, handle: Any, letter: str) -> None:
    x, y = torch.randn(2, 9, dtype=TYPES[letter])
    alpha = torch.tensor(2.5, dtype=TYPES[letter])
    stored = [x.to("musa"), y.to("musa")]
    blas.must(f"mublas{letter}axpy", handle, 9, alpha, stored[0], 1, stored[1], 1)
    torch.testing.assert_close(stored[1].cpu(), y + alpha * x)
    blas.must(f"mublas{letter}scal", handle, 3, alpha, stored[0], 3)
    torch.testing.assert_close(stored[0].cpu()[::3], alpha * x[::3])
    result = torch.zeros(1, dtype=TYPES[letter])
    dot = {"S": "Sdot", "D": "Ddot"}.get(letter, f"{letter}dotc")
    blas.must(f"mublas{dot}", handle, 9, x.to("musa"), 1, y.to("musa"), 1, result)
    torch.testing.assert_close(result[0], torch.vdot(x, y))
    real = torch.zeros(1, dtype=x.abs().dtype)
    named = {"S": "S", "D": "D", "C": "Sc", "Z": "Dz"}[letter]
    blas.must(f"mublas{named}nrm2", handle, 9, x.to("musa"), 1, real)
    torch.testing.assert_close(real[0], x.abs().square().sum().sqrt())
    matrix = torch.randn(9, 4, dtype=TYPES[letter])
    out = torch.zeros(8, dtype=TYPES[letter], device="musa")
    blas.must(f"mublas{letter}gemv", handle, C, 9, 4, alpha, columns(matrix), 9, x.to("musa"), 1, alpha, out, 2)
    torch.testing.assert_close(out.cpu()[::2], alpha * (matrix.mH @ x))
    outer, stored = columns(matrix), y[:4].to("musa")
    blas.must(
        f"mublas{letter}{'ger' if letter in 'SD' else 'gerc'}",
        handle,
        9,
        4,
        alpha,
        x.to("musa"),
        1,
        stored,
        1,
        outer,
        9,
    )
    torch.testing.assert_close(back(outer), matrix + alpha * torch.outer(x, y[:4].conj()))
    place = torch.zeros(1, dtype=torch.int)
    blas.must(f"mublasI{letter.lower()}amax", handle, 9, x.to("musa"), 1, place)
    parts = torch.view_as_real(x).abs().sum(-1) if x.is_complex() else x.abs()
    assert place.item() == parts.argmax().item() + 1


@pytest.mark.parametrize("letter", TYPES)
def test_solutions_and_sums_of_matrices(blas: Library, handle: Any, letter: str) -> None:
    a = torch.randn(4, 4, dtype=TYPES[letter]) + 4 * torch.eye(4)
    a, b = a.to(TYPES[letter]), torch.randn(4, 3, dtype=TYPES[letter])
    one, two = torch.tensor([1, 2], dtype=TYPES[letter])
    right = columns(b)
    blas.must(f"mublas{letter}trsm", handle, 0, 1, T, 0, 4, 3, one, columns(a), 4, right, 4)
    torch.testing.assert_close(a.triu().mT @ back(right), b)
    out = torch.empty(3, 4, dtype=TYPES[letter], device="musa")
    blas.must(f"mublas{letter}geam", handle, N, T, 4, 3, one, columns(b), 4, two, columns(b.mT), 3, out, 4)
    torch.testing.assert_close(back(out), 3 * b)
    square = torch.zeros(4, 4, dtype=TYPES[letter], device="musa")
    blas.must(f"mublas{letter}syrk", handle, 0, N, 4, 3, one, columns(b), 4, two, square, 4)
    torch.testing.assert_close(back(square).tril(), (b @ b.mT).tril())


def test_work_in_a_captured_stream_is_done_at_each_replay(blas: Library, handle: Any, torch_musa: Any) -> None:
    x, y, alpha = torch.ones(4, device="musa"), torch.zeros(4, device="musa"), torch.tensor(1.0)
    graph = torch_musa.MUSAGraph()
    with torch_musa.graph(graph):
        blas.must("mublasSetStream", handle, ctypes.c_void_p(torch_musa.current_stream().musa_stream))
        blas.must("mublasSaxpy", handle, 4, alpha, x, 1, y, 1)
        alpha.fill_(100.0)
    assert y.tolist() == [0] * 4
    graph.replay()
    graph.replay()
    assert y.tolist() == [2] * 4


# --- muBLASLt ----------


class Lt:
    """D = epilogue(A' B + bias), all by columns."""

    def __init__(self) -> None:
        self.library = Library("mublasLt")
        self.handle = self.library.handle("mublasLtCreate")

    def layout(self, matrix: torch.Tensor) -> ctypes.c_void_p:
        made = ctypes.c_void_p()
        rows, width = matrix.shape
        sizes = (ctypes.c_ulonglong(rows), ctypes.c_ulonglong(width), ctypes.c_longlong(rows))
        self.library.must("mublasLtMatrixLayoutCreate", ctypes.byref(made), NUMBERS[matrix.dtype], *sizes)
        return made

    def set(self, desc: ctypes.c_void_p, attribute: int, value: Any) -> None:
        self.library.must(
            "mublasLtMatmulDescSetAttribute",
            desc,
            attribute,
            ctypes.byref(value),
            ctypes.c_size_t(ctypes.sizeof(value)),
        )

    def run(
        self, a: torch.Tensor, b: torch.Tensor, epilogue: int, bias: Any = None, aux: Any = None, aux_ld: int = 0
    ) -> torch.Tensor:
        desc, out = ctypes.c_void_p(), torch.empty(b.shape[1], a.shape[1], dtype=a.dtype, device="musa")
        self.library.must("mublasLtMatmulDescCreate", ctypes.byref(desc), 0, 0)
        self.set(desc, 3, ctypes.c_int(T))
        self.set(desc, 7, ctypes.c_int(epilogue))
        if bias is not None:
            self.set(desc, 8, ctypes.c_void_p(bias.data_ptr()))
        if aux is not None:
            self.set(desc, 11, ctypes.c_void_p(aux.data_ptr()))
            self.set(desc, 12, ctypes.c_longlong(aux_ld or a.shape[1]))
        one, none = torch.tensor([1.0, 0.0])
        layouts = self.layout(a), self.layout(b), self.layout(out.mT)
        self.library.must(
            "mublasLtMatmul",
            self.handle,
            desc,
            one,
            columns(a),
            layouts[0],
            columns(b),
            layouts[1],
            none,
            out,
            layouts[2],
            out,
            layouts[2],
            None,
            None,
            ctypes.c_size_t(0),
            None,
        )
        return back(out)


@pytest.mark.parametrize(("mode", "beta"), [(2, True), (3, False), (4, True)])
def test_a_factor_for_each_row(torch_musa: Any, mode: int, beta: bool) -> None:
    """Of alpha, and with DEVICE_VECTOR of beta; otherwise beta is one number of the host's, or none."""
    lt, desc = Lt(), ctypes.c_void_p()
    a, b, c, alpha = torch.randn(5, 4), torch.randn(5, 3), torch.randn(4, 3), torch.randn(4)
    betas = torch.randn(4) if mode == 2 else torch.tensor([0.5 if beta else float("nan")])
    lt.library.must("mublasLtMatmulDescCreate", ctypes.byref(desc), 0, 0)
    lt.set(desc, 2, ctypes.c_int(mode))
    lt.set(desc, 3, ctypes.c_int(T))
    layouts, stored = [lt.layout(each) for each in (a, b, c)], [columns(each) for each in (a, b, c)]
    factors = alpha.to("musa"), betas.to("musa") if mode == 2 else betas
    given = [lt.handle, desc, factors[0], stored[0], layouts[0], stored[1], layouts[1], factors[1]]
    out = [stored[2], layouts[2]]
    lt.library.must("mublasLtMatmul", *given, *out, *out, None, None, ctypes.c_size_t(0), None)
    wanted = alpha[:, None] * (a.mT @ b) + (betas[:, None] * c if beta else 0)
    torch.testing.assert_close(back(stored[2]), wanted)


def gelu(x: torch.Tensor) -> torch.Tensor:
    return torch.nn.functional.gelu(x, approximate="tanh")


@pytest.mark.parametrize("dtype", [torch.float, torch.half, torch.bfloat16])
def test_epilogues(torch_musa: Any, dtype: torch.dtype) -> None:
    lt = Lt()
    a, b, bias = torch.randn(5, 4).to(dtype), torch.randn(5, 3).to(dtype), torch.randn(4).to(dtype)
    product, on_device = a.float().mT @ b.float(), bias.to("musa")
    shifted = product + bias.float()[:, None]
    for epilogue, wanted in (
        (1, product),
        (2, product.relu()),
        (4, shifted),
        (6, shifted.relu()),
        (32, gelu(product)),
        (36, gelu(shifted)),
    ):
        torch.testing.assert_close(lt.run(a, b, epilogue, on_device), wanted.to(dtype))
    aux = torch.empty(3, 4, dtype=dtype, device="musa")
    torch.testing.assert_close(lt.run(a, b, 164, on_device, aux), gelu(shifted).to(dtype))
    torch.testing.assert_close(back(aux), shifted.to(dtype))


def test_gradients_by_epilogues(torch_musa: Any) -> None:
    lt = Lt()
    a, b, before = torch.randn(5, 4), torch.randn(5, 3), torch.randn(4, 3, requires_grad=True)
    for epilogue, operand in ((256, a), (512, b)):
        gradient = torch.empty(operand.shape[1], device="musa")
        torch.testing.assert_close(lt.run(a, b, epilogue, gradient), a.mT @ b)
        torch.testing.assert_close(gradient.cpu(), operand.sum(0))
    gelu(before).backward(a.mT @ b)
    gradient, aux = torch.empty(4, device="musa"), columns(before.detach())
    torch.testing.assert_close(lt.run(a, b, 208, gradient, aux), before.grad)
    assert before.grad is not None
    torch.testing.assert_close(gradient.cpu(), before.grad.sum(1))


@pytest.mark.parametrize("epilogue", [130, 134])
def test_a_rectified_product_leaves_a_bit_for_each_number(torch_musa: Any, epilogue: int) -> None:
    """Set where it is positive, in columns of a multiple of 128 bits; the gradient goes back through those."""
    lt = Lt()
    a, b, bias = torch.randn(5, 12), torch.randn(5, 3), torch.randn(12)
    product = a.mT @ b + (bias[:, None] if epilogue == 134 else 0)
    mask = torch.zeros(3, 256 // 8, dtype=torch.uint8, device="musa")
    torch.testing.assert_close(lt.run(a, b, epilogue, bias.to("musa"), mask, 256), product.relu())
    bits = mask.cpu()[:, :, None] >> torch.arange(8, dtype=torch.uint8) & 1
    assert torch.equal(bits.reshape(3, 256)[:, :12].mT.bool(), product > 0) and not bits.reshape(3, 256)[:, 12:].any()
    gradient = torch.empty(12, device="musa")
    wanted = (a.mT @ b) * (product > 0)
    torch.testing.assert_close(lt.run(a, b, 152, gradient, mask, 256), wanted)
    torch.testing.assert_close(gradient.cpu(), wanted.sum(1))
    with pytest.raises(AssertionError, match="mublasLtMatmul"):
        lt.run(a, b, epilogue, gradient, mask, 200)


# --- muSOLVER ----------


@pytest.mark.parametrize("letter", TYPES)
def test_factorisations(torch_musa: Any, letter: str) -> None:
    solver = Library("musolver")
    handle, info = solver.handle("musolverDnCreate"), torch.zeros(1, dtype=torch.int, device="musa")
    a, b = torch.randn(4, 4, dtype=TYPES[letter]), torch.randn(4, 2, dtype=TYPES[letter])
    stored, right, pivots = columns(a), columns(b), torch.zeros(4, dtype=torch.int, device="musa")
    solver.must(f"musolverDn{letter}getrf", handle, 4, 4, stored, 4, None, pivots, info)
    solver.must(f"musolverDn{letter}getrs", handle, N, 4, 2, stored, 4, pivots, right, 4, info)
    torch.testing.assert_close(a @ back(right), b, rtol=1e-3, atol=1e-3)
    positive = a @ a.mH + 4 * torch.eye(4, dtype=TYPES[letter])
    stored, right = columns(positive), columns(b)
    solver.must(f"musolverDn{letter}potrf", handle, 0, 4, stored, 4, None, 0, info)
    torch.testing.assert_close(back(stored).tril(), torch.linalg.cholesky(positive))
    solver.must(f"musolverDn{letter}potrs", handle, 0, 4, 2, stored, 4, right, 4, info)
    torch.testing.assert_close(positive @ back(right), b, rtol=1e-3, atol=1e-3)
    assert info.item() == 0
    broken = columns(-positive)
    solver.must(f"musolverDn{letter}potrf", handle, 0, 4, broken, 4, None, 0, info)
    assert info.item() == 1


@pytest.mark.parametrize("letter", TYPES)
def test_orthogonal_factors_and_eigenvalues(torch_musa: Any, letter: str) -> None:
    solver = Library("musolver")
    handle, info = solver.handle("musolverDnCreate"), torch.zeros(1, dtype=torch.int, device="musa")
    orthogonal, eigen = ("orgqr", "syevd") if letter in "SD" else ("ungqr", "heevd")
    a = torch.randn(5, 3, dtype=TYPES[letter])
    stored, tau = columns(a), torch.zeros(3, dtype=TYPES[letter], device="musa")
    solver.must(f"musolverDn{letter}geqrf", handle, 5, 3, stored, 5, tau, None, 0, info)
    upper = back(stored)[:3].triu()
    solver.must(f"musolverDn{letter}{orthogonal}", handle, 5, 3, 3, stored, 5, tau, None, 0, info)
    torch.testing.assert_close(back(stored) @ upper, a)
    hermitian = a.mH @ a
    stored, values = columns(hermitian), torch.zeros(3, dtype=a.abs().dtype, device="musa")
    solver.must(f"musolverDn{letter}{eigen}", handle, 1, 0, 3, stored, 3, values, None, 0, info)
    vectors = back(stored)
    torch.testing.assert_close(hermitian @ vectors, vectors * values.cpu(), rtol=1e-3, atol=1e-3)


# --- muSPARSE ----------


@pytest.mark.parametrize("dtype", [torch.float, torch.double, torch.half, torch.cfloat])
@pytest.mark.parametrize("compressed", [True, False])
@pytest.mark.filterwarnings("ignore:Sparse CSR tensor support")  # torch's, at the first one of a process
def test_sparse_products(torch_musa: Any, dtype: torch.dtype, compressed: bool) -> None:
    sparse = Library("musparse")
    handle = sparse.handle("musparseCreate")
    dense = torch.randn(5, 4).to(dtype) * (torch.rand(5, 4) < 0.5)
    right, compute = torch.randn(4, 3).to(dtype), torch.float if dtype == torch.half else dtype
    exact = torch.cdouble if dtype.is_complex else torch.double
    one, none = torch.tensor([1, 0], dtype=compute)
    sizes = [ctypes.c_longlong(each) for each in (5, 4, int((dense != 0).sum()))]
    form = dense.to_sparse_csr() if compressed else dense.to_sparse_coo().coalesce()
    parts = (form.crow_indices(), form.col_indices()) if compressed else (form.indices()[0], form.indices()[1])
    kept = [each.int().contiguous().to("musa") for each in parts] + [form.values().to("musa")]
    matrix, kinds = ctypes.c_void_p(), [2, 2] if compressed else [2]
    name = "musparseCreateCsr" if compressed else "musparseCreateCoo"
    sparse.must(name, ctypes.byref(matrix), *sizes, *kept, *kinds, 0, NUMBERS[dtype])
    b, out = right.to("musa"), torch.empty(5, 3, dtype=dtype, device="musa")
    described = [ctypes.c_void_p(), ctypes.c_void_p()]
    for made, each in zip(described, (b, out)):
        extents = [ctypes.c_longlong(size) for size in (*each.shape, each.shape[1])]
        sparse.must("musparseCreateDnMat", ctypes.byref(made), *extents, each, NUMBERS[dtype], 2)
    sparse.must("musparseSpMM", handle, N, N, one, matrix, described[0], none, described[1], NUMBERS[compute], 0, None)
    torch.testing.assert_close(out.cpu(), (dense.to(exact) @ right.to(exact)).to(dtype))
    vectors = [ctypes.c_void_p(), ctypes.c_void_p()]
    x, y = torch.randn(5).to(dtype).to("musa"), torch.empty(4, dtype=dtype, device="musa")
    for made, each in zip(vectors, (x, y)):
        sparse.must("musparseCreateDnVec", ctypes.byref(made), ctypes.c_longlong(each.numel()), each, NUMBERS[dtype])
    sparse.must("musparseSpMV", handle, T, one, matrix, vectors[0], none, vectors[1], NUMBERS[compute], 0, None)
    torch.testing.assert_close(y.cpu(), (dense.mT.to(exact) @ x.cpu().to(exact)).to(dtype))


# --- muSPARSE's older functions ----------

BLOCK = 2


@pytest.fixture
def sparse(torch_musa: Any) -> Library:
    return Library("musparse")


def described(sparse: Library, base: int = 0, **modes: int) -> ctypes.c_void_p:
    """The description of a matrix whose indices count from `base`."""
    made = sparse.handle("musparseCreateMatDescr")
    for name, value in {"IndexBase": base, **modes}.items():
        sparse.must(f"musparseSetMat{name}", made, value)
        assert sparse(f"musparseGetMat{name}", made) == value
    return made


def csr(dense: torch.Tensor, base: int) -> list[torch.Tensor]:
    """Values, offsets and columns on the device."""
    found = dense != 0
    offsets = torch.cat([torch.zeros(1, dtype=torch.long), found.sum(1).cumsum(0)]) + base
    return [dense[found].to("musa"), offsets.int().to("musa"), (found.nonzero()[:, 1] + base).int().to("musa")]


def bsr(dense: torch.Tensor, base: int, direction: int) -> list[torch.Tensor]:
    """The same by blocks, of which those without a number are left out."""
    size = dense.shape[0] // BLOCK
    blocks = dense.view(size, BLOCK, dense.shape[1] // BLOCK, BLOCK).transpose(1, 2)
    kept = (blocks != 0).flatten(2).any(2)
    offsets = torch.cat([torch.zeros(1, dtype=torch.long), kept.sum(1).cumsum(0)]) + base
    values = blocks[kept] if direction == 0 else blocks[kept].mT
    return [values.contiguous().to("musa"), offsets.int().to("musa"), (kept.nonzero()[:, 1] + base).int().to("musa")]


@pytest.mark.parametrize("letter", TYPES)
def test_sums_of_sparse_matrices(sparse: Library, letter: str) -> None:
    handle, dtype = sparse.handle("musparseCreate"), TYPES[letter]
    a, b = (torch.randn(5, 4).to(dtype) * (torch.rand(5, 4) < 0.4) for _ in range(2))
    a[0, 0], b[0, 0] = 1, -3  # the sum is zero, and has its place all the same
    alpha, beta = torch.tensor([1.5, 0.5], dtype=dtype)
    stored = [csr(a, 0), csr(b, 1)]
    (first, second, third) = (described(sparse, base) for base in (0, 1, 1))
    nnz, offsets = ctypes.c_int(), torch.zeros(6, dtype=torch.int32, device="musa")
    structure = [(matrix, len(parts[0]), *parts[1:]) for matrix, parts in zip((first, second), stored)]
    sparse.must(
        "musparseXcsrgeam2Nnz", handle, 5, 4, *structure[0], *structure[1], third, offsets, ctypes.byref(nnz), None
    )
    assert nnz.value == int(((a != 0) | (b != 0)).sum())
    values, columns = torch.empty(nnz.value, dtype=dtype).to("musa"), torch.empty(nnz.value).int().to("musa")
    (av, ao, ac), (bv, bo, bc) = stored
    parts = [alpha, first, len(av), av, ao, ac, beta, second, len(bv), bv, bo, bc, third, values, offsets, columns]
    needed = ctypes.c_size_t(7)
    sparse.must(f"musparse{letter}csrgeam2_bufferSizeExt", handle, 5, 4, *parts, ctypes.byref(needed))
    assert needed.value == 0
    sparse.must(f"musparse{letter}csrgeam2", handle, 5, 4, *parts, None)
    dense = torch.zeros(5, 4, dtype=dtype)
    rows = torch.repeat_interleave(torch.arange(5), offsets.cpu().diff())
    dense[rows, columns.cpu().long() - 1] = values.cpu()
    torch.testing.assert_close(dense, alpha * a + beta * b)
    assert values[0].item() == 0


@pytest.mark.parametrize("letter", TYPES)
@pytest.mark.parametrize("direction", [0, 1])
def test_products_with_blocks(sparse: Library, letter: str, direction: int) -> None:
    handle, dtype = sparse.handle("musparseCreate"), TYPES[letter]
    dense = torch.randn(6, 4).to(dtype)
    dense[2:4, :2] = 0
    right, before = torch.randn(4, 3).to(dtype), torch.randn(6, 3).to(dtype)
    alpha, beta = torch.tensor([1.5, -0.5], dtype=dtype)
    values, offsets, indices = bsr(dense, 1, direction)
    matrix = [alpha, described(sparse, 1), values, offsets, indices, BLOCK]
    expected = alpha * dense @ right + beta * before
    for op, given, ld in ((N, columns(right), 4), (T, right.to("musa"), 3)):
        out = columns(before)
        extents = [direction, N, op, 3, 3, 2, len(values)]
        sparse.must(f"musparse{letter}bsrmm", handle, *extents, *matrix, given, ld, beta, out, 6)
        torch.testing.assert_close(back(out), expected)
    x, y = right[:, 0].contiguous().to("musa"), before[:, 0].contiguous().to("musa")
    sparse.must(f"musparse{letter}bsrmv", handle, direction, N, 3, 2, len(values), *matrix, x, beta, y)
    torch.testing.assert_close(y.cpu(), expected[:, 0])
    assert sparse(f"musparse{letter}bsrmv", handle, direction, T, 3, 2, len(values), *matrix, x, beta, y) == 10


@pytest.mark.parametrize("letter", TYPES)
@pytest.mark.parametrize("op", [N, T, C])
@pytest.mark.parametrize(("upper", "unit"), [(0, 0), (1, 0), (1, 1)])
def test_triangles_of_blocks(sparse: Library, letter: str, op: int, upper: int, unit: int) -> None:
    handle, dtype = sparse.handle("musparseCreate"), TYPES[letter]
    dense = torch.randn(6, 6).to(dtype) + 4 * torch.eye(6)
    dense[4:, :2] = dense[:2, 4:] = 0
    triangle = dense.triu() if upper else dense.tril()
    if unit:
        triangle = triangle - triangle.diagonal().diag() + torch.eye(6)
    right, alpha = torch.randn(6, 3).to(dtype), torch.tensor(1.5, dtype=dtype)
    expected = torch.linalg.solve(transposed(triangle, op), alpha * right)
    values, offsets, indices = bsr(dense, 0, 0)
    description = described(sparse, FillMode=upper, DiagType=unit)
    stored = [description, values, offsets, indices, BLOCK]
    info, sizes, size = sparse.handle("musparseCreateBsrsv2Info"), [0, op, 3, len(values)], ctypes.c_int(7)
    sparse.must(f"musparse{letter}bsrsv2_bufferSize", handle, *sizes, *stored, info, ctypes.byref(size))
    assert size.value == 0
    sparse.must(f"musparse{letter}bsrsv2_analysis", handle, *sizes, *stored, info, 0, None)
    x, y = right[:, 0].contiguous().to("musa"), torch.empty(6, dtype=dtype, device="musa")
    sparse.must(f"musparse{letter}bsrsv2_solve", handle, *sizes, alpha, *stored, info, x, y, 1, None)
    torch.testing.assert_close(y.cpu(), expected[:, 0])
    sparse.must("musparseDestroyBsrsv2Info", info)
    info = sparse.handle("musparseCreateBsrsm2Info")
    for opx, given, ld in ((N, columns(right), 6), (T, right.to("musa"), 3)):
        sizes, out = [0, op, opx, 3, 3, len(values)], torch.empty_like(given)
        sparse.must(f"musparse{letter}bsrsm2_analysis", handle, *sizes, *stored, info, 0, None)
        sparse.must(f"musparse{letter}bsrsm2_solve", handle, *sizes, alpha, *stored, info, given, ld, out, ld, 0, None)
        torch.testing.assert_close(back(out) if opx == N else out.cpu(), expected)
    sparse.must("musparseDestroyBsrsm2Info", info)


def test_a_zero_on_the_diagonal_is_found(sparse: Library) -> None:
    handle, position = sparse.handle("musparseCreate"), ctypes.c_int()
    dense = torch.eye(6)
    dense[3, 3] = 0
    values, offsets, indices = bsr(dense, 0, 0)
    stored = [described(sparse, FillMode=0, DiagType=0), values, offsets, indices, BLOCK]
    info = sparse.handle("musparseCreateBsrsv2Info")
    sparse.must("musparseSbsrsv2_analysis", handle, 0, N, 3, len(values), *stored, info, 0, None)
    zero_pivot = 9
    assert sparse("musparseXbsrsv2_zeroPivot", handle, info, ctypes.byref(position)) == zero_pivot
    assert position.value == 1
    sparse.must("musparseSetMatDiagType", stored[0], 1)
    sparse.must("musparseSbsrsv2_analysis", handle, 0, N, 3, len(values), *stored, info, 0, None)
    sparse.must("musparseXbsrsv2_zeroPivot", handle, info, ctypes.byref(position))
    assert position.value == -1


def test_numbers_other_than_zero_are_counted(sparse: Library) -> None:
    handle, dense = sparse.handle("musparseCreate"), torch.tensor([[1.0, 0, 2], [0, 0, 3]])
    for direction, expected in ((0, [2, 1]), (1, [1, 0, 2])):
        counts, total = torch.empty(len(expected)).int().to("musa"), ctypes.c_int()
        matrix = [described(sparse), columns(dense), 2]
        sparse.must("musparseSnnz", handle, direction, 2, 3, *matrix, counts, ctypes.byref(total))
        assert (counts.tolist(), total.value) == (expected, 3)


def test_a_matrix_that_is_not_general_is_refused(sparse: Library) -> None:
    handle, other = sparse.handle("musparseCreate"), described(sparse, Type=1)
    not_supported, total = 8, ctypes.c_int()
    assert sparse("musparseSnnz", handle, 0, 2, 3, other, None, 2, None, ctypes.byref(total)) == not_supported


# --- muFFT ----------

LENGTHS = [(1,), (2,), (8,), (12,), (17,), (30,), (97,), (6, 10), (5, 7), (3, 4, 6), (2, 9, 5)]


def plan(fft: Library, shape: tuple[int, ...], kind: int, batch: int) -> ctypes.c_int:
    made, extents = ctypes.c_int(), (ctypes.c_int * len(shape))(*shape)
    fft.must("mufftPlanMany", ctypes.byref(made), len(shape), extents, None, 1, 0, None, 1, 0, kind, batch)
    return made


@pytest.mark.parametrize("shape", LENGTHS)
@pytest.mark.parametrize("double", [False, True])
def test_transforms(torch_musa: Any, shape: tuple[int, ...], double: bool) -> None:
    fft, dimensions = Library("mufft"), tuple(range(1, len(shape) + 1))
    complex_type, real_type = (torch.cdouble, torch.double) if double else (torch.cfloat, torch.float)
    kinds, names = ((0x69, 0x6A, 0x6C), "Z2Z D2Z Z2D") if double else ((0x29, 0x2A, 0x2C), "C2C R2C C2R")
    both, forward, inverse = (f"mufftExec{name}" for name in names.split())
    x = torch.randn(2, *shape, dtype=complex_type)
    out = x.to("musa")
    for direction, wanted in ((-1, torch.fft.fftn(x, dim=dimensions)), (1, x * x[0].numel())):
        fft.must(both, plan(fft, shape, kinds[0], 2), out, out, direction)
        torch.testing.assert_close(out.cpu(), wanted, rtol=1e-4, atol=1e-3)
    real = torch.randn(2, *shape, dtype=real_type)
    half = torch.fft.rfftn(real, dim=dimensions)
    out = torch.empty(half.shape, dtype=complex_type, device="musa")
    fft.must(forward, plan(fft, shape, kinds[1], 2), real.to("musa"), out)
    torch.testing.assert_close(out.cpu(), half, rtol=1e-4, atol=1e-3)
    again = torch.empty(real.shape, dtype=real_type, device="musa")
    fft.must(inverse, plan(fft, shape, kinds[2], 2), out, again)
    torch.testing.assert_close(again.cpu() / real[0].numel(), real, rtol=1e-4, atol=1e-3)


def test_a_plan_with_strides_reads_every_other_number(torch_musa: Any) -> None:
    fft, x = Library("mufft"), torch.randn(3, 16, 2, dtype=torch.cfloat)
    made, sizes, out = ctypes.c_int(), (ctypes.c_int * 1)(16), torch.empty(3, 16, dtype=torch.cfloat, device="musa")
    fft.must("mufftPlanMany", ctypes.byref(made), 1, sizes, sizes, 2, 32, sizes, 1, 16, 0x29, 3)
    fft.must("mufftExecC2C", made, x.to("musa"), out, -1)
    torch.testing.assert_close(out.cpu(), torch.fft.fft(x[:, :, 0]), rtol=1e-4, atol=1e-4)
    assert fft("mufftExecC2R", made, x.to("musa"), out) == 3, "another kind of transform"
    fft.must("mufftDestroy", made)
    assert fft("mufftExecC2C", made, x.to("musa"), out, -1) == 1


# --- muRAND ----------


def drawn(name: str, dtype: torch.dtype, *parameters: Any, n: int = 20_000, seed: int = 7) -> torch.Tensor:
    random = Library("murand")
    generator, out = ctypes.c_void_p(), torch.zeros(n, dtype=dtype, device="musa")
    random.must("murandCreateGenerator", ctypes.byref(generator), 161)
    random.must("murandSetPseudoRandomGeneratorSeed", generator, ctypes.c_ulonglong(seed))
    random.must(name, generator, out, ctypes.c_size_t(n), *parameters)
    random.must("murandDestroyGenerator", generator)
    return out.cpu()


def moments(values: torch.Tensor) -> tuple[float, float]:
    return values.double().mean().item(), values.double().var().item()


@pytest.mark.parametrize(
    ("name", "dtype", "parameters", "mean", "variance"),
    [
        ("murandGenerateUniform", torch.float, (), 0.5, 1 / 12),
        ("murandGenerateUniformDouble", torch.double, (), 0.5, 1 / 12),
        ("murandGenerateNormal", torch.float, (ctypes.c_float(3), ctypes.c_float(2)), 3, 4),
        ("murandGenerateNormalDouble", torch.double, (3.0, 2.0), 3, 4),
        ("murandGeneratePoisson", torch.int32, (4.0,), 4, 4),
    ],
)
def test_random_numbers_have_their_distribution(
    torch_musa: Any, name: str, dtype: torch.dtype, parameters: tuple[Any, ...], mean: float, variance: float
) -> None:
    values = drawn(name, dtype, *parameters)
    assert moments(values) == (pytest.approx(mean, rel=0.03), pytest.approx(variance, rel=0.05))
    assert torch.equal(values, drawn(name, dtype, *parameters))
    assert not torch.equal(values, drawn(name, dtype, *parameters, seed=8))


def test_a_sequence_goes_on_where_it_ended(torch_musa: Any) -> None:
    random, generator = Library("murand"), ctypes.c_void_p()
    parts = torch.zeros(20, device="musa")
    random.must("murandCreateGenerator", ctypes.byref(generator), 100)
    random.must("murandSetPseudoRandomGeneratorSeed", generator, ctypes.c_ulonglong(7))
    for start in (0, 10):
        random.must("murandGenerateUniform", generator, parts[start:], ctypes.c_size_t(10))
    assert torch.equal(parts.cpu(), drawn("murandGenerateUniform", torch.float, n=20))


# --- names ----------


def vendor_names() -> set[str]:
    table = Path(__file__).parent.parent / "porting" / "symbols.json.xz"
    found: set[str] = set()

    def collect(value: Any) -> None:
        if isinstance(value, dict):
            for each in value.values():
                collect(each)
        elif isinstance(value, list):
            for each in value:
                collect(each)
        elif isinstance(value, str):
            found.add(value)

    collect(json.loads(lzma.decompress(table.read_bytes())))
    return found


@pytest.mark.parametrize("name", LIBRARIES)
def test_every_exported_name_is_the_vendors(name: str) -> None:
    listed = subprocess.run(
        ["nm", "-D", "--defined-only", toolkit.home() / "lib" / f"lib{name}.so"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    ours = {line.split()[-1] for line in listed.splitlines() if line.split()[-1].startswith("mu")}
    assert len(ours) > 10
    assert ours - vendor_names() - CALLED_BY_TORCH_MUSA == set()


def test_every_header_is_complete_by_itself(tmp_path: Path) -> None:
    mcc = toolkit.home() / "bin" / "mcc"
    for header in (*LIBRARIES, "mufftXt", "muComplex", "library_types"):
        source = tmp_path / f"{header}.mu"
        source.write_text(f"#include <{header}.h>\n", encoding="utf-8")
        done = subprocess.run([mcc, "-fsyntax-only", source], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
