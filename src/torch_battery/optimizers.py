"""Optimizers: ten steps on the device against the same in double precision on the CPU."""

from __future__ import annotations

import copy
from collections.abc import Callable
from functools import partial
from typing import Any

import torch

from torch_battery.check import Level, Tolerance, expect
from torch_battery.compare import same
from torch_battery.inputs import Inputs
from torch_battery.table import Program

GROUP = "optimizers"
_TOLERANCE = Tolerance(1e-4, 1e-5)
_Make = Callable[..., Any]


def _model(dtype: torch.dtype) -> torch.nn.Module:
    model = torch.nn.Sequential(torch.nn.Linear(6, 8), torch.nn.Tanh(), torch.nn.Linear(8, 3))
    make = Inputs(torch.float32, "optimizers")
    for weight in model.parameters():
        weight.data = make(*weight.shape) * 0.4
    return model.to(dtype)


def _steps(model: torch.nn.Module, optimizer: Any, count: int = 10) -> None:
    weight = next(model.parameters())
    x = Inputs(torch.float32, "batch")(16, 6).to(weight)
    y = Inputs(torch.float32, "answers")(16, 3).to(weight)
    for _ in range(count):
        optimizer.zero_grad()
        (model(x) - y).pow(2).mean().backward()
        optimizer.step()


def _trained(make: _Make, options: dict[str, Any], implementation: dict[str, Any]) -> float:
    own, host = _model(torch.float32).cuda(), _model(torch.float64)
    _steps(own, make(own.parameters(), **options, **implementation))
    _steps(host, make(host.parameters(), **options))
    return same(list(own.parameters()), list(host.parameters()), _TOLERANCE, "the weights after ten steps")


def _row(subject: str, make: _Make, level: Level = "standard", **options: Any) -> Program:
    implementation: dict[str, Any] = {
        name: options.pop(name) for name in ("foreach", "fused", "capturable") if name in options
    }
    return Program(subject, partial(_trained, make, options, implementation), level, _TOLERANCE)


def _resumed() -> float:
    """Five steps, a state that is saved and loaded, and five more."""
    own, host = _model(torch.float32).cuda(), _model(torch.float64)
    first = torch.optim.AdamW(own.parameters(), lr=0.02)
    _steps(own, first, 5)
    again = torch.optim.AdamW(own.parameters(), lr=0.5)
    again.load_state_dict(copy.deepcopy(first.state_dict()))
    state = next(iter(again.state.values()))["exp_avg"]
    expect(state.is_cuda, f"the state that was loaded is on {state.device}")
    _steps(own, again, 5)
    _steps(host, torch.optim.AdamW(host.parameters(), lr=0.02))
    return same(list(own.parameters()), list(host.parameters()), _TOLERANCE, "the weights")


def _clipped() -> float:
    clipped = []
    for model in (_model(torch.float32).cuda(), _model(torch.float64)):
        _steps(model, torch.optim.SGD(model.parameters(), lr=0.1), 1)
        norm = torch.nn.utils.clip_grad_norm_(model.parameters(), 0.1)
        clipped.append([norm, *(weight.grad for weight in model.parameters())])
    return same(clipped[0], clipped[1], _TOLERANCE, "the clipped gradients")


def _scheduled() -> None:
    model = _model(torch.float32).cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=1.0)
    schedule = torch.optim.lr_scheduler.StepLR(optimizer, 1, 0.5)
    for _ in range(3):
        optimizer.step()
        schedule.step()
    expect(schedule.get_last_lr() == [0.125], f"the rate is {schedule.get_last_lr()} after three halvings")


_optim = torch.optim
TABLE = [
    _row("sgd", _optim.SGD, "quick", lr=0.1),
    _row("sgd_momentum", _optim.SGD, lr=0.1, momentum=0.9, nesterov=True, weight_decay=0.01),
    _row("sgd_foreach", _optim.SGD, lr=0.1, momentum=0.9, foreach=True),
    _row("sgd_fused", _optim.SGD, lr=0.1, momentum=0.9, fused=True),
    _row("adam", _optim.Adam, lr=0.02, foreach=False),
    _row("adam_foreach", _optim.Adam, lr=0.02, foreach=True),
    _row("adam_fused", _optim.Adam, lr=0.02, fused=True),
    _row("adam_capturable", _optim.Adam, lr=0.02, capturable=True),
    _row("adam_amsgrad", _optim.Adam, lr=0.02, amsgrad=True),
    _row("adamw", _optim.AdamW, "quick", lr=0.02),
    _row("adamw_fused", _optim.AdamW, lr=0.02, weight_decay=0.1, fused=True),
    _row("adamw_capturable", _optim.AdamW, lr=0.02, capturable=True, foreach=True),
    _row("adagrad", _optim.Adagrad, lr=0.1),
    _row("adadelta", _optim.Adadelta, lr=1.0),
    _row("adamax", _optim.Adamax, lr=0.02),
    _row("nadam", _optim.NAdam, lr=0.02),
    _row("radam", _optim.RAdam, lr=0.02),
    _row("rmsprop", _optim.RMSprop, lr=0.01, momentum=0.5, centered=True),
    _row("rprop", _optim.Rprop, lr=0.01),
    _row("asgd", _optim.ASGD, "full", lr=0.05),
    Program("resumed", _resumed, tolerance=_TOLERANCE),
    Program("clip_grad_norm", _clipped, tolerance=_TOLERANCE),
    Program("schedule", _scheduled),
]
