"""Autograd beyond the gradients of single operators."""

from __future__ import annotations

from typing import Any

import torch
from torch.utils.checkpoint import checkpoint

from torch_battery.check import TOLERANCES, expect
from torch_battery.compare import same
from torch_battery.inputs import Inputs
from torch_battery.table import Program

GROUP = "autograd"
_TOLERANCE = TOLERANCES["float32"].times(20)


def _pair() -> tuple[Any, Any]:
    """The same numbers on the device and, as doubles, on the CPU; both require gradients."""
    host = Inputs(torch.float32, "gradients")(6, 6)
    return host.cuda().requires_grad_(), host.double().requires_grad_()


def _second() -> float:
    gradients = []
    for x in _pair():
        (first,) = torch.autograd.grad((x.tanh() @ x).pow(2).sum(), x, create_graph=True)
        gradients += torch.autograd.grad(first.pow(2).sum(), x)
    return same(gradients[0], gradients[1], _TOLERANCE.times(100), "a gradient of a gradient")


def _accumulated() -> float:
    own, host = _pair()
    for x in (own, host):
        for factor in (1.0, 2.0):
            (x.sin() * factor).sum().backward()
    return same(own.grad, host.grad, _TOLERANCE, "an accumulated gradient")


def _recomputed() -> float:
    own, host = _pair()
    checkpoint(lambda x: (x @ x).sigmoid(), own, use_reentrant=False).sum().backward()
    (host @ host).sigmoid().sum().backward()
    return same(own.grad, host.grad, _TOLERANCE, "a gradient through torch.utils.checkpoint")


def _recomputed_dropout() -> None:
    """What is computed again draws the same random numbers, or the gradient would be of another function."""
    x = torch.ones(1000, device="cuda", requires_grad=True)
    out = checkpoint(torch.nn.functional.dropout, x, 0.5, use_reentrant=False)
    out.sum().backward()
    expect(x.grad is not None and torch.equal(x.grad, out.detach()), "checkpoint draws other numbers again")


class _Cube(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return x**3

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        (x,) = ctx.saved_tensors
        return 3 * x**2 * grads[0]


def _own_function() -> float:
    own, host = _pair()
    for x in (own, host):
        _Cube.apply(x).sum().backward()
    return same(own.grad, host.grad, _TOLERANCE, "a gradient of an autograd.Function")


def _hooks() -> None:
    own, _ = _pair()
    seen = []
    own.register_hook(lambda gradient: seen.append(gradient.is_cuda))
    (own * 2).sum().backward()
    expect(seen == [True], "a hook has not seen a gradient on the device")


def _across() -> float:
    own, host = _pair()
    (own.cpu().pow(2).cuda() * 3).sum().backward()
    (host.pow(2) * 3).sum().backward()
    return same(own.grad, host.grad, _TOLERANCE, "a gradient through copies to the CPU and back")


def _across_devices() -> float:
    own, host = _pair()
    (own.to("cuda:1").pow(2) * 3).sum().backward()
    (host.pow(2) * 3).sum().backward()
    expect(own.grad is not None and own.grad.device == own.device, "a gradient is on another device than its tensor")
    return same(own.grad, host.grad, _TOLERANCE, "a gradient across devices")


def _forward_mode() -> float:
    own, host = _pair()
    derivatives = [
        torch.func.jvp(lambda x: (x @ x).sin(), (x.detach(),), (torch.ones_like(x),))[1] for x in (own, host)
    ]
    return same(derivatives[0], derivatives[1], _TOLERANCE.times(4), "a derivative in forward mode")


def _per_sample() -> float:
    own, host = _pair()
    gradients = [torch.func.vmap(torch.func.grad(lambda row: row.sin().prod()))(x.detach()) for x in (own, host)]
    return same(gradients[0], gradients[1], _TOLERANCE, "a gradient for each sample")


def _anomaly() -> None:
    x = torch.zeros(3, device="cuda", requires_grad=True)
    try:
        with torch.autograd.detect_anomaly(check_nan=True):
            (x.sqrt() * 0).sum().backward()
    except RuntimeError as error:
        expect("nan" in str(error).lower(), f"detect_anomaly raises another error: {error}")
        return
    expect(False, "detect_anomaly has not found a NaN")


TABLE = [
    Program("backward", _accumulated, "quick", _TOLERANCE),
    Program("double_backward", _second, tolerance=_TOLERANCE.times(100)),
    Program("checkpoint", _recomputed, tolerance=_TOLERANCE),
    Program("checkpoint_dropout", _recomputed_dropout),
    Program("function", _own_function, tolerance=_TOLERANCE),
    Program("hooks", _hooks),
    Program("through_the_cpu", _across, tolerance=_TOLERANCE),
    Program("across_devices", _across_devices, tolerance=_TOLERANCE, devices=2),
    Program("forward_mode", _forward_mode, tolerance=_TOLERANCE.times(4)),
    Program("per_sample", _per_sample, tolerance=_TOLERANCE),
    Program("anomaly", _anomaly),
]
