"""Operators that CUDA has and torch_musa 2.7.1 has not: the CPU's answer, on the device."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

from support.interpreter import Interpreter
from torchada.areas.kernels import cpu_fallback

X = torch.linspace(-1, 1, 9).reshape(3, 3)
BYTES = torch.arange(-32, 32, dtype=torch.int8).reshape(8, 8)


def _stepped(device: str) -> torch.Tensor:
    weight = X.clone().to(device).requires_grad_()
    optimizer = torch.optim.Adagrad([weight], lr=0.5, fused=True)
    for _ in range(2):
        optimizer.zero_grad()
        weight.square().sum().backward()
        optimizer.step()
    return weight.detach()


CALLS: dict[str, Callable[[str], Any]] = {
    "logcumsumexp": lambda device: torch.logcumsumexp(X.to(device), 1),
    "matrix_exp": lambda device: torch.linalg.matrix_exp(X.to(device)),
    "nonzero_static": lambda device: torch.nonzero_static(X.to(device), size=4),
    "segment_reduce": lambda device: torch.segment_reduce(
        X.flatten().to(device), "sum", lengths=torch.tensor([2, 3, 4], device=device), unsafe=False
    ),
    "special": lambda device: torch.special.legendre_polynomial_p(X.to(device), 3),
    "bessel": lambda device: torch.special.modified_bessel_i0(X.to(device)),
    "to_sparse_csr": lambda device: X.to(device).to_sparse_csr().to_dense(),
    "to_sparse_bsc": lambda device: X.to(device).to_sparse_bsc((1, 3)).to_dense(),
    "fused_adagrad": _stepped,
    "slow_conv_dilated2d": lambda device: torch.ops.aten.slow_conv_dilated2d(
        X[None, None].to(device), X[None, None].to(device), [3, 3]
    ),
    "jagged": lambda device: torch.ops.aten._jagged_to_padded_dense_forward(
        X.to(device), [torch.tensor([0, 1, 3], device=device)], [2], 7.0
    ),
}
if hasattr(torch, "hash_tensor"):  # from torch 2.9 on
    CALLS["hash_tensor"] = lambda device: torch.hash_tensor(X.to(device)).view(torch.int64)


@pytest.mark.filterwarnings("ignore:Sparse ")
@pytest.mark.parametrize("name", CALLS)
def test_the_answer_is_the_cpus(name: str) -> None:
    found = CALLS[name]("cuda:1")
    assert found.device == torch.device("cuda:1")
    torch.testing.assert_close(found.cpu(), CALLS[name]("cpu"))


@pytest.mark.parametrize("name", ["logcumsumexp", "matrix_exp", "segment_reduce"])
def test_gradients(name: str) -> None:
    def gradient(device: str) -> torch.Tensor:
        x = X.clone().to(device).requires_grad_()
        if name == "segment_reduce":
            y = torch.segment_reduce(x.flatten(), "max", lengths=torch.tensor([2, 7], device=device), unsafe=False)
        else:
            y = torch.logcumsumexp(x, 0) if name == "logcumsumexp" else torch.linalg.matrix_exp(x)
        y.square().sum().backward()
        assert x.grad is not None
        return x.grad

    torch.testing.assert_close(gradient("cuda").cpu(), gradient("cpu"))


@pytest.mark.parametrize("name", sorted({*cpu_fallback._POLYNOMIALS, *cpu_fallback._BESSEL}))
def test_results_are_written_into_a_given_tensor(name: str) -> None:
    function = getattr(torch.special, name)
    arguments = (2,) if name in cpu_fallback._POLYNOMIALS else ()
    out = torch.empty(0, device="cuda")
    assert function(X.cuda() + 2, *arguments, out=out) is out
    torch.testing.assert_close(out.cpu(), function(X + 2, *arguments))


def test_products_of_bytes() -> None:
    wanted = BYTES.int() @ BYTES.int()
    out = torch.empty(8, 8, dtype=torch.int32, device="cuda")
    assert torch._int_mm(BYTES.cuda(), BYTES.cuda(), out=out) is out
    assert torch.equal(out.cpu(), wanted) and torch.equal(torch._int_mm(BYTES.cuda(), BYTES.cuda()).cpu(), wanted)


def test_an_error_is_pytorchs() -> None:
    with pytest.raises(RuntimeError, match="must be batches of square matrices"):
        torch.linalg.matrix_exp(X[:2].cuda())


@pytest.mark.full
def test_every_operator_of_the_list_is_one_of_pytorchs(musa: Interpreter) -> None:
    """torch_musa 2.7.1 lacks them all."""
    code = """
    import json, torch
    from torchada.redirect.engine import ENGINE
    (records,) = [found for area, found in ENGINE.applied().items() if str(area).endswith("cpu_fallback")]
    print(json.dumps([record.patch.name for record in records]))
    """
    names = set(musa.json(code, env={"MUSASIM_RELEASE": "2.7.1"}, forked=True))
    known = {name for name in cpu_fallback._OPERATORS if torch._C._dispatch_has_kernel(f"aten::{name}")}
    assert names == known


@pytest.mark.full
def test_a_newer_backend_keeps_its_kernels(musa: Interpreter) -> None:
    """torch_musa 2.9.1 has nearly all of them."""
    code = """
    import json, torch
    from torchada.redirect import cpu_fallbacks
    x = torch.rand(3, 3, device="cuda")
    torch.linalg.matrix_exp(torch.logcumsumexp(x, 0)), torch.special.modified_bessel_i0(x), x.to_sparse_csr()
    print(json.dumps(dict(cpu_fallbacks.COUNTS)))
    """
    assert musa.json(code, env={"MUSASIM_RELEASE": "2.9.1"}, forked=True) == {}


def test_a_kernel_of_the_backend_is_kept(musa: Interpreter) -> None:
    code = """
    from torchada.hooks import activation
    begin = activation._begin
    def _begin(backend):
        import torch
        torch.library.impl("aten::_logcumsumexp", "PrivateUse1")(lambda x, dim: torch.full_like(x, 5))
        begin(backend)
    activation._begin = _begin
    import torch
    print(torch.logcumsumexp(torch.ones(2, device="cuda"), 0).tolist())
    """
    assert musa.run(code, env={"MUSASIM_RELEASE": "2.7.1"}).stdout == "[5.0, 5.0]\n"
