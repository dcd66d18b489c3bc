"""Products of complex matrices whose conjugation is only noted, which torch_musa 2.7.1's kernels do not look at."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch

torch.manual_seed(0)
A, B = torch.randn(2, 3, 3, 3, dtype=torch.complex64)
CALLS: dict[str, Callable[[torch.Tensor, torch.Tensor], torch.Tensor]] = {
    "left": lambda a, b: a[0].mH @ b[0],
    "right": lambda a, b: a[0] @ b[0].conj(),
    "both": lambda a, b: a[0].conj() @ b[0].mH,
    "batches": lambda a, b: a.mH @ b,
    "batches with gaps": lambda a, b: a[..., ::2].conj() @ b[:, ::2].conj(),
    "vdot": lambda a, b: torch.vdot(a[0, 0].conj(), b[0, 0]),
    "vdot, right": lambda a, b: torch.vdot(a[0, 0], b[0, 0].conj()),
    "out": lambda a, b: torch.mm(a[0].conj(), b[0], out=torch.empty_like(a[0])),
    "out, conjugated": lambda a, b: torch.mm(a[0], b[0], out=torch.empty_like(a[0]).conj()),
    "out of batches": lambda a, b: torch.bmm(a.conj(), b, out=torch.empty_like(a)),
}


@pytest.mark.parametrize("name", CALLS)
def test_as_on_the_cpu(name: str) -> None:
    found = CALLS[name](A.cuda(), B.cuda())
    assert found.is_cuda
    torch.testing.assert_close(found.cpu(), CALLS[name](A, B))
    torch.testing.assert_close(CALLS[name](A.clone(), B.clone()), CALLS[name](A, B))


@pytest.mark.parametrize("dtype", [torch.complex64, torch.complex128])
def test_gradients(dtype: torch.dtype) -> None:
    def gradients(device: str) -> tuple[torch.Tensor, ...]:
        a, b = (each.to(device, dtype, copy=True).requires_grad_() for each in (A, B))
        return tuple(each.cpu() for each in torch.autograd.grad((a @ b).abs().sum(), [a, b]))

    for found, wanted in zip(gradients("cuda"), gradients("cpu")):
        torch.testing.assert_close(found, wanted)
