"""LU without pivoting, which CUDA's kernels take: A = L @ U, with the pivots 1 to n."""

from __future__ import annotations

import gc
from collections.abc import Callable

import pytest
import torch


def matrices(*shape: int, dtype: torch.dtype = torch.float64) -> torch.Tensor:
    torch.manual_seed(0)
    return torch.randn(*shape, dtype=dtype) + 4 * torch.eye(*shape[-2:], dtype=dtype)


@pytest.mark.parametrize("shape", [(4, 4), (2, 3, 5, 5), (2, 5, 3), (3, 5), (1, 1)])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.complex64])
def test_the_product_of_the_factors_is_the_matrix(shape: tuple[int, ...], dtype: torch.dtype) -> None:
    given = matrices(*shape, dtype=dtype)
    permutation, lower, upper = torch.linalg.lu(given.cuda(), pivot=False)
    assert permutation.numel() == 0 and lower.is_cuda
    torch.testing.assert_close((lower @ upper).cpu(), given, rtol=1e-4, atol=1e-4)
    assert torch.equal(lower.triu(1), torch.zeros_like(lower)) and torch.equal(upper.tril(-1), torch.zeros_like(upper))
    factors, pivots = torch.linalg.lu_factor(given.cuda(), pivot=False)
    steps = min(shape[-2:])
    torch.testing.assert_close(factors[..., :steps, :].triu(), upper)
    assert pivots.dtype == torch.int32 and torch.equal(
        pivots.cpu(), torch.arange(1, steps + 1, dtype=torch.int32).expand(*shape[:-2], steps)
    )


def test_systems_are_solved_by_them_as_in_qpth() -> None:
    given, wanted = matrices(2, 4, 4).cuda(), torch.ones(2, 4, 1, dtype=torch.float64, device="cuda")
    torch.testing.assert_close(
        given @ torch.linalg.lu_solve(*torch.linalg.lu_factor(given, pivot=False), wanted), wanted
    )


def test_gradients() -> None:
    given = matrices(3, 3).cuda().requires_grad_()
    assert torch.autograd.gradcheck(lambda x: torch.linalg.lu_factor(x, pivot=False)[0], given)


def test_a_zero_on_the_diagonal_is_told() -> None:
    given = torch.tensor([[[1.0, 2.0], [2.0, 4.0]], [[0.0, 1.0], [1.0, 0.0]], [[2.0, 1.0], [1.0, 2.0]]], device="cuda")
    assert torch.linalg.lu_factor_ex(given, pivot=False).info.tolist() == [2, 1, 0]


def test_with_pivoting_they_are_the_backends() -> None:
    given = matrices(4, 4)
    torch.linalg.lu_factor(given.cuda(), pivot=False)
    for ours, wanted in zip(torch.linalg.lu_factor(given.cuda()), torch.linalg.lu_factor(given), strict=True):
        torch.testing.assert_close(ours.cpu(), wanted)


def test_into_given_tensors() -> None:
    given = matrices(3, 3).cuda()
    out = torch.empty(0, dtype=torch.float64, device="cuda"), torch.empty(0, dtype=torch.int32, device="cuda")
    torch.linalg.lu_factor(given, pivot=False, out=out)
    torch.testing.assert_close(out[0], torch.linalg.lu_factor(given, pivot=False)[0])
    assert out[1].tolist() == [1, 2, 3]


def test_into_a_tensor_of_another_type_they_are_refused() -> None:
    out = torch.empty(0, device="cuda"), torch.empty(0, dtype=torch.int32, device="cuda")
    with pytest.raises(RuntimeError, match="Expected out tensor to have dtype double, but got float instead"):
        torch.linalg.lu_factor(matrices(3, 3).cuda(), pivot=False, out=out)


@pytest.mark.parametrize("shape", [(3, 3), (2, 3, 4), (4, 3)])
def test_strides_are_those_of_pytorch(shape: tuple[int, ...]) -> None:
    for compute in (torch.linalg.lu_factor, torch.linalg.lu):
        found, wanted = (
            compute(matrices(*shape).to(device), pivot=pivot) for device, pivot in (("cuda", False), ("cpu", True))
        )
        assert [part.stride() for part in found][-2:] == [part.stride() for part in wanted][-2:]
    assert torch.linalg.lu_factor(matrices(*shape).cuda(), pivot=False)[0].mT.is_contiguous()


@pytest.mark.parametrize("factor", [torch.linalg.lu, torch.linalg.lu_factor])
def test_what_has_no_factors_is_refused_as_by_pytorch(factor: Callable[..., object]) -> None:
    with pytest.raises(RuntimeError, match=r"Expected tensor with 2 or more dimensions. Got size: \[3\] instead"):
        factor(torch.ones(3, device="cuda"), pivot=False)
    for dtype in (torch.int64, torch.float16):
        with pytest.raises(RuntimeError, match=r"not implemented for|Low precision"):
            factor(torch.ones(3, 3, device="cuda", dtype=dtype), pivot=False)


def test_a_matrix_is_freed_with_its_last_name() -> None:
    """The error of the kernel that refuses is forgotten, with all that it refers to."""
    given = matrices(3, 3, dtype=torch.float32).cuda()
    torch.linalg.lu_factor(given, pivot=False)
    gc.collect()
    gc.disable()
    try:
        before = torch.cuda.memory_allocated()
        torch.linalg.lu_factor(matrices(300, 300, dtype=torch.float32).cuda(), pivot=False)
        assert torch.cuda.memory_allocated() == before
    finally:
        gc.enable()
