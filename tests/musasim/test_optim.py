"""torch_musa.optim: optimizers whose step is one launch, against torch.optim's on the host."""

# ruff: noqa: E402

from __future__ import annotations

from typing import Any

import pytest

import musasim

musasim.install()

import torch
from torch_musa import multi_tensor_apply
from torch_musa.optim import FusedAdam, FusedAdamW, FusedLAMB

from support.fresh_process import run

pytestmark = pytest.mark.once

PAIRS = [(FusedAdam, torch.optim.Adam), (FusedAdamW, torch.optim.AdamW)]


def _train(optimizer: Any, param: torch.Tensor, gradients: list[torch.Tensor]) -> torch.Tensor:
    for gradient in gradients:
        param.grad = gradient.to(param.device, param.dtype)
        optimizer.step()
    return param.detach().cpu()


@pytest.mark.parametrize("options", [{}, {"weight_decay": 0.3}, {"amsgrad": True}, {"maximize": True}], ids=str)
@pytest.mark.parametrize(("fused", "reference"), PAIRS)
def test_a_fused_step_is_torchs(fused: Any, reference: Any, options: dict[str, Any]) -> None:
    torch.manual_seed(0)
    start, gradients = torch.randn(33), [torch.randn(33) for _ in range(5)]
    mine, theirs = start.clone().to("musa").requires_grad_(), start.clone().requires_grad_()
    own = fused([mine], lr=0.1, **options)
    found = _train(own, mine, gradients)
    torch.testing.assert_close(found, _train(reference([theirs], lr=0.1, **options), theirs, gradients))
    assert own.state[mine]["step"].device.type == "cpu" and own.state[mine]["step"] == 5


@pytest.mark.parametrize("fused", [FusedAdam, FusedAdamW])
def test_a_learning_rate_may_be_a_tensor(fused: Any) -> None:
    gradients = [torch.ones(4)] * 3
    first, second = torch.zeros(4, device="musa"), torch.zeros(4, device="musa")
    number = _train(fused([first], lr=0.1), first, gradients)
    tensor = _train(fused([second], lr=torch.tensor(0.1, device="musa")), second, gradients)
    torch.testing.assert_close(number, tensor)


def test_an_infinite_gradient_skips_the_step_and_its_count() -> None:
    param = torch.ones(4, device="musa", requires_grad=True)
    optimizer, scaler = FusedAdam([param], lr=0.1), torch.musa.amp.GradScaler(init_scale=4.0)
    scaler.scale((param * float("inf")).sum()).backward()
    scaler.step(optimizer)
    assert param.tolist() == [1] * 4 and optimizer.state[param]["step"] == 0


def test_state_survives_saving_with_its_counter_on_the_host() -> None:
    param = torch.ones(4, device="musa", requires_grad=True)
    optimizer = FusedAdamW([param])
    _train(optimizer, param, [torch.ones(4)] * 2)
    fresh = FusedAdamW([param])
    fresh.load_state_dict(optimizer.state_dict())
    state = fresh.state[param]
    assert (state["step"].device.type, float(state["step"]), state["exp_avg"].device.type) == ("cpu", 2, "musa")


REFUSED = """
import torch, torch_musa
for optimizer in (torch.optim.Adam, torch.optim.AdamW):
    for lr in (0.1, torch.tensor(0.1)):
        for device in ("cpu", "musa"):
            param = torch.ones(4, device=device, requires_grad=True)
            param.grad = torch.ones_like(param)
            try:
                optimizer([param], lr=lr, fused=True).step()
            except RuntimeError as error:
                print(f"{device}: {error}")
"""


def test_torchs_own_fused_steps_are_refused_before_2_11_0() -> None:
    """In a process where torchada does not answer them."""
    words = "musa: torch.optim.{0}(fused=True) is not supported, try torch_musa.optim.Fused{0} instead"
    want = [words.format(name) for name in ("Adam", "AdamW") for _ in range(2)]
    assert run(REFUSED, forked=True, MUSASIM_RELEASE="2.9.1").splitlines() == want


TORCHS = """
import torch, torch_musa
gradients = [torch.randn(33) for _ in range(3)]
def train(kind, device, dtype=torch.float32, **options):
    param = torch.linspace(-1, 1, 33, device=device, dtype=dtype).requires_grad_()
    optimizer = kind([param], **options)
    for gradient in gradients:
        param.grad = gradient.to(param)
        optimizer.step()
    return param.detach().cpu().float(), optimizer.state[param]
for kind in (torch.optim.Adam, torch.optim.AdamW):
    for options in ({}, {"weight_decay": 0.1}, {"amsgrad": True}, {"maximize": True}):
        wanted, _ = train(kind, "cpu", lr=0.1, **options)
        found, state = train(kind, "musa", lr=0.1, fused=True, **options)
        torch.testing.assert_close(found, wanted)
        assert state["step"].device.type == "musa" and state["step"].item() == 3
        rate = torch.tensor(0.1, device="musa")
        torch.testing.assert_close(train(kind, "musa", lr=rate, fused=True, **options)[0], wanted)
    halves, state = train(kind, "musa", torch.bfloat16, lr=0.1, fused=True)
    torch.testing.assert_close(halves, train(kind, "cpu", lr=0.1)[0], rtol=0.05, atol=0.05)
    assert state["exp_avg"].dtype == torch.bfloat16
param = torch.ones(4, device="musa", requires_grad=True)
optimizer = torch.optim.Adam([param], lr=0.1, fused=True)
optimizer.grad_scale, optimizer.found_inf = (torch.tensor(value, device="musa") for value in (2.0, 1.0))
param.grad = torch.ones_like(param)
optimizer.step()
assert param.eq(1).all() and optimizer.state[param]["step"].item() == 0
try:
    torch._fused_adam_(
        [param.detach()], [param.grad.half()], [param.detach().clone()], [param.detach().clone()], [],
        [torch.ones((), device="musa")], lr=0.1, beta1=0.9, beta2=0.99, weight_decay=0.0, eps=1e-8, amsgrad=False, maximize=False)
except RuntimeError as error:
    print(error)
"""


def test_torchs_own_fused_steps_are_computed_since_2_11_0() -> None:
    """By the vendor's own test, tests/unittest/optim/test_fused_adam.py of 2.11.0.post2."""
    found = run(TORCHS, forked=True, MUSASIM_RELEASE="2.11.0")
    assert found == "params, grads, exp_avgs, and exp_avg_sqs must have same dtype, device, and layout\n"


def test_what_the_optimizers_refuse() -> None:
    with pytest.raises(RuntimeError, match="differentiable"):
        FusedAdam([torch.ones(1, device="musa")], differentiable=True)
    with pytest.raises(ValueError, match="Invalid beta parameter at index 1"):
        FusedAdamW([torch.ones(1, device="musa")], betas=(0.9, 1.0))
    on_host = torch.ones(1, requires_grad=True)
    on_host.grad = torch.ones(1)
    with pytest.raises(RuntimeError, match="all parameters should on MUSA device"):
        FusedAdam([on_host]).step()
    with pytest.raises(RuntimeError, match="AMSGrad"):
        FusedLAMB([on_host], amsgrad=True)


def test_lamb_scales_each_tensors_step_by_its_norm() -> None:
    """Its definition, by hand, for the first step: the update has the parameter's norm, times the learning rate."""
    param = torch.tensor([3.0, 4.0], device="musa", requires_grad=True)
    param.grad = torch.tensor([0.1, -0.2], device="musa")
    FusedLAMB([param], lr=0.5, weight_decay=0.01, eps=0.0).step()
    update = torch.tensor([1.0, -1.0]) + 0.01 * torch.tensor([3.0, 4.0])  # both averages cancel in the first step
    expected = torch.tensor([3.0, 4.0]) - 0.5 * 5.0 / update.norm() * update
    torch.testing.assert_close(param.detach().cpu(), expected)


@pytest.mark.parametrize("set_grad_none", [True, False])
def test_lamb_drops_gradients_whatever_it_is_told(set_grad_none: bool) -> None:
    """With set_grad_none=False it leaves them to torch's own method, without what it was told."""
    param = torch.ones(1, device="musa", requires_grad=True)
    param.grad = torch.ones(1, device="musa")
    FusedLAMB([param], set_grad_none=set_grad_none).zero_grad(set_to_none=False)
    assert param.grad is None


def test_the_norm_of_many_tensors() -> None:
    from torch_musa import _ext

    tensors = [torch.full((3,), 2.0, device="musa"), torch.full((4,), 1.0, device="musa")]
    flag = torch.zeros(1, dtype=torch.int, device="musa")
    total, each = multi_tensor_apply.multi_tensor_applier(_ext.multi_tensor_l2norm, flag, [tensors], True)
    torch.testing.assert_close(each.cpu(), torch.tensor([12.0, 4.0]).sqrt())
    assert float(total) == 4.0
