"""Optimizers on parameters on the device: their choice of implementation, GradScaler, clipping."""

from __future__ import annotations

import inspect
import io
from collections.abc import Iterator
from typing import Any

import pytest
import torch
from torch import nn

from support.interpreter import TORCH

ALL = [
    value
    for name, value in sorted(vars(torch.optim).items())
    if inspect.isclass(value)
    and issubclass(value, torch.optim.Optimizer)
    and name not in ("Optimizer", "LBFGS", "SparseAdam")
]
WAYS: tuple[dict[str, Any], ...] = ({}, {"foreach": True}, {"foreach": False}, {"fused": True}, {"capturable": True})


def cases() -> Iterator[Any]:
    for kind in ALL:
        known = inspect.signature(kind).parameters
        for way in WAYS:
            if way.keys() <= known.keys():
                yield pytest.param(kind, way, id=f"{kind.__name__}-{'-'.join(way) or 'default'}-{all(way.values())}")


def model_of(kind: Any) -> nn.Module:
    torch.manual_seed(0)
    # Muon takes matrices only.
    return nn.Linear(4, 4, bias=kind.__name__ != "Muon")


def train(model: nn.Module, optimizer: Any, device: str) -> list[torch.Tensor]:
    x = torch.linspace(-1, 1, 8, device=device).reshape(2, 4)
    for _ in range(3):
        optimizer.zero_grad()
        model(x).square().sum().backward()
        optimizer.step()
    return [parameter.detach().cpu() for parameter in model.parameters()]


def train_once(optimizer: Any) -> None:
    for parameter in optimizer.param_groups[0]["params"]:
        parameter.grad = torch.ones_like(parameter)
    optimizer.step()


@pytest.mark.parametrize(("kind", "way"), list(cases()))
def test_as_on_the_cpu(kind: Any, way: dict[str, Any]) -> None:
    here, there = model_of(kind), model_of(kind).cuda()
    wanted = train(here, kind(here.parameters(), lr=0.01), "cpu")
    result = train(there, kind(there.parameters(), lr=0.01, **way), "cuda")
    torch.testing.assert_close(result, wanted, atol=1e-5, rtol=1e-4)


FUSED_OPTIONS: tuple[dict[str, Any], ...] = (
    {"weight_decay": 0.3},
    {"amsgrad": True},
    {"maximize": True},
    {"betas": (0.0, 0.99)},
)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16], ids=str)
@pytest.mark.parametrize("options", FUSED_OPTIONS, ids=str)
@pytest.mark.parametrize("kind", [torch.optim.Adam, torch.optim.AdamW])
def test_a_fused_step_is_the_cpus(kind: Any, options: dict[str, Any], dtype: torch.dtype) -> None:
    """In bfloat16 too, where each is computed in single precision and rounded once."""
    found = []
    for device in ("cpu", "cuda"):
        model = model_of(kind).to(device, dtype)
        optimizer = kind(model.parameters(), lr=0.01, fused=True, **options)
        for factor in (1.0, 0.5, 0.25):
            for parameter in model.parameters():
                grad = torch.linspace(-factor, 2 * factor, parameter.numel()).reshape_as(parameter)
                parameter.grad = grad.to(parameter)
            optimizer.step()
        found.append([parameter.detach().cpu() for parameter in model.parameters()])
        assert all(state["step"].device.type == parameter.device.type for state in optimizer.state.values())
    torch.testing.assert_close(*found)


@pytest.mark.skipif(TORCH < (2, 12), reason="CUDA's kernel, and torch.optim, have them from torch 2.12 on")
@pytest.mark.parametrize("step", [torch._fused_adam_, torch._fused_adamw_])
def test_a_fused_step_with_averages_in_bfloat16(step: Any) -> None:
    param, grad = torch.ones(3, device="cuda"), torch.full((3,), 2.0, device="cuda")
    averages = torch.zeros(2, 3, device="cuda", dtype=torch.bfloat16)
    lists = [[each] for each in (param, grad, *averages)]
    options = {"lr": 0.5, "beta1": 0.9, "beta2": 0.99, "weight_decay": 0.0, "eps": 1e-8, "amsgrad": False}
    step(*lists, [], [torch.ones((), device="cuda")], maximize=False, **options)
    torch.testing.assert_close(param.cpu(), torch.full((3,), 0.5))
    torch.testing.assert_close(averages.cpu(), torch.tensor([[0.2] * 3, [0.04] * 3], dtype=torch.bfloat16))


def test_a_fused_step_in_a_graph() -> None:
    here, there = (torch.ones(3, device=device, requires_grad=True) for device in ("cpu", "cuda"))
    wanted = torch.optim.AdamW([here], lr=0.1)
    optimizer = torch.optim.AdamW([there], lr=0.1, fused=True, capturable=True)
    here.grad, there.grad = torch.ones(3), torch.ones(3, device="cuda")
    optimizer.step()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        optimizer.step()
    graph.replay()
    graph.replay()
    for _ in range(3):
        wanted.step()
    torch.testing.assert_close(there.detach().cpu(), here.detach())
    assert optimizer.state[there]["step"].item() == 3


@pytest.mark.parametrize("rate", ["cpu", "cuda"])
def test_a_fused_step_with_scaled_gradients_in_a_graph(rate: str) -> None:
    """A learning rate on the host is a number: a copy of it to the device could not be captured."""
    parameter = torch.ones(3, device="cuda", requires_grad=True)
    optimizer = torch.optim.AdamW([parameter], lr=torch.tensor(0.1, device=rate), fused=True, capturable=True)
    # The programs that make scales of their own give them one dimension.
    optimizer.grad_scale = torch.full((1,), 4.0, device="cuda")  # type: ignore[attr-defined]
    optimizer.found_inf = torch.zeros((), device="cuda")  # type: ignore[attr-defined]
    parameter.grad = torch.full((3,), 8.0, device="cuda")
    optimizer.step()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        parameter.grad.fill_(8.0)
        optimizer.step()
    graph.replay()
    wanted = torch.ones(3, requires_grad=True)
    wanted.grad = torch.full((3,), 2.0)
    other = torch.optim.AdamW([wanted], lr=0.1)
    other.step()
    other.step()
    torch.testing.assert_close(parameter.detach().cpu(), wanted.detach())


@pytest.mark.parametrize("rate", ["number", "cuda"])
def test_a_fused_step_decays_small_weights_as_far_as_cudas(rate: str) -> None:
    """By a millionth: 1 - 1e-6 in single precision would be off by more than a percent."""
    start = torch.linspace(0.5, 1.5, 10_001)
    parameter = start.cuda().requires_grad_()
    parameter.grad = torch.zeros_like(parameter)
    lr = 1e-4 if rate == "number" else torch.tensor(1e-4, device=rate)
    torch.optim.AdamW([parameter], lr=lr, weight_decay=1e-2, fused=True).step()
    # As CUDA's kernel computes it.
    wanted = (start.double() - 1e-6 * start.double()).float()
    torch.testing.assert_close(parameter.detach().cpu(), wanted, rtol=0, atol=0)


def test_a_fused_step_without_parameters() -> None:
    """PyTorch finds no device whose kernel it could call."""
    options = {"lr": 0.1, "beta1": 0.9, "beta2": 0.9, "weight_decay": 0.0, "eps": 1e-8, "amsgrad": False}
    with pytest.raises(NotImplementedError, match="no tensor arguments"):
        torch._fused_adam_([], [], [], [], [], [], maximize=False, **options)


@pytest.mark.parametrize("fused", [False, True])
def test_a_learning_rate_on_the_device(fused: bool) -> None:
    here, there = model_of(torch.optim.AdamW), model_of(torch.optim.AdamW).cuda()
    wanted = train(here, torch.optim.AdamW(here.parameters(), lr=0.01), "cpu")
    rate = torch.tensor(0.01, device="cuda")
    way: dict[str, Any] = {"fused": True} if fused else {"capturable": True}
    torch.testing.assert_close(
        train(there, torch.optim.AdamW(there.parameters(), lr=rate, **way), "cuda"), wanted, atol=1e-5, rtol=1e-4
    )


def test_the_automatic_choice_is_foreach() -> None:
    from torch.optim.optimizer import _default_to_fused_or_foreach

    parameters = [torch.ones(2, device="cuda", requires_grad=True)]
    assert _default_to_fused_or_foreach(parameters, differentiable=False, use_fused=False) == (False, True)
    assert _default_to_fused_or_foreach(parameters, differentiable=False, use_fused=True) == (True, False)


def test_capturable_keeps_its_steps_on_the_device() -> None:
    model = model_of(torch.optim.Adam).cuda()
    optimizer = torch.optim.Adam(model.parameters(), capturable=True)
    train(model, optimizer, "cuda")
    assert all(state["step"].is_cuda for state in optimizer.state.values())


def test_capturable_is_refused_on_the_cpu() -> None:
    model = model_of(torch.optim.Adam)
    optimizer = torch.optim.Adam(model.parameters(), capturable=True)
    with pytest.raises(AssertionError, match="capturable"):
        train(model, optimizer, "cpu")


def test_lbfgs() -> None:
    model = model_of(torch.optim.LBFGS).cuda()
    optimizer = torch.optim.LBFGS(model.parameters())

    def closure() -> torch.Tensor:
        optimizer.zero_grad()
        loss: torch.Tensor = model(torch.ones(2, 4, device="cuda")).square().sum()
        loss.backward()
        return loss

    before = closure().item()
    optimizer.step(closure)  # type: ignore[no-untyped-call]
    assert closure().item() < before / 2


def test_state_dict_goes_and_comes_back() -> None:
    model = model_of(torch.optim.Adam).cuda()
    optimizer = torch.optim.Adam(model.parameters())
    train(model, optimizer, "cuda")
    other = torch.optim.Adam(model_of(torch.optim.Adam).cuda().parameters())
    other.load_state_dict(optimizer.state_dict())
    assert all(state["exp_avg"].is_cuda for state in other.state.values())


@pytest.mark.parametrize(("kind", "way"), list(cases()))
def test_a_step_read_on_the_cpu_goes_where_the_optimizer_counts(kind: Any, way: dict[str, Any]) -> None:
    """On the device, a count is for kernels that read it there. The others' stay where the checkpoint was read."""
    optimizer = kind(model_of(kind).cuda().parameters(), lr=0.01, **way)
    train_once(optimizer)
    file = io.BytesIO()
    torch.save(optimizer.state_dict(), file)
    file.seek(0)
    other = kind(model_of(kind).cuda().parameters(), lr=0.01, **way)
    other.load_state_dict(torch.load(file, map_location="cpu"))
    counts = [state["step"] for state in other.state.values() if "step" in state]
    is_on_the_device = bool(way.get("fused") or way.get("capturable"))
    assert {(count.is_cuda, count.dtype) for count in counts} <= {(is_on_the_device, torch.float32)}
    assert counts or kind.__name__ in ("SGD", "Adafactor", "Muon")
    train_once(other)


@pytest.mark.parametrize("way", [{}, {"foreach": True}, {"fused": True}])
@pytest.mark.parametrize("kind", [torch.optim.SGD, torch.optim.AdamW])
def test_grad_scaler(kind: Any, way: dict[str, Any]) -> None:
    model = model_of(kind).cuda()
    optimizer, scaler = kind(model.parameters(), lr=0.1, **way), torch.amp.GradScaler("cuda", init_scale=4.0)
    weight = next(model.parameters())
    for factor, moves in ((1.0, True), (float("inf"), False)):
        before = weight.detach().clone()
        optimizer.zero_grad()
        with torch.autocast("cuda", torch.float16):
            loss = model(torch.ones(2, 4, device="cuda")).float().square().sum() * factor
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        assert weight.equal(before) is not moves
    assert scaler.get_scale() == 2.0


@pytest.mark.parametrize("foreach", [None, True, False])
def test_clipping(foreach: bool | None) -> None:
    model = model_of(torch.optim.SGD).cuda()
    model(torch.ones(2, 4, device="cuda")).square().sum().backward()
    norm = nn.utils.get_total_norm([p.grad for p in model.parameters() if p.grad is not None], foreach=foreach)
    assert nn.utils.clip_grad_norm_(model.parameters(), 0.5, foreach=foreach).item() == pytest.approx(norm.item())
    after = nn.utils.clip_grad_norm_(model.parameters(), 9.0, foreach=foreach)
    assert after.is_cuda and after.item() == pytest.approx(0.5, abs=1e-4)
    nn.utils.clip_grad_value_(model.parameters(), 0.01, foreach=foreach)
    assert max(p.grad.abs().max().item() for p in model.parameters() if p.grad is not None) <= 0.01 + 1e-6


def test_a_vector_of_parameters() -> None:
    model = model_of(torch.optim.SGD).cuda()
    vector = nn.utils.parameters_to_vector(model.parameters())
    assert vector.is_cuda
    nn.utils.vector_to_parameters(vector * 0, model.parameters())
    assert not any(parameter.any() for parameter in model.parameters())
