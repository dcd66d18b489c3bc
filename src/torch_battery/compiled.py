"""torch.compile: a compiled function has to give what it gives uncompiled."""

from __future__ import annotations

from typing import Any

import torch
from torch.nn import functional as F

from torch_battery.check import TOLERANCES
from torch_battery.compare import same
from torch_battery.inputs import Inputs
from torch_battery.table import Program

GROUP = "compile"
_TOLERANCE = TOLERANCES["float32"].times(20)


def _layer(x: Any, w: Any) -> Any:
    return F.gelu(F.layer_norm(x @ w, (8,))).sum(-1)


def _compiled() -> float:
    make = Inputs(torch.float32, "compiled")
    x, w = make(6, 8), make(8, 8)
    actual = torch.compile(_layer)(x.cuda(), w.cuda())
    return same(actual, _layer(x.double(), w.double()), _TOLERANCE, "a compiled function")


def _gradients() -> float:
    make = Inputs(torch.float32, "compiled")
    x, w = make(6, 8), make(8, 8)
    weight, expected = w.cuda().requires_grad_(), w.double().requires_grad_()
    torch.compile(_layer)(x.cuda(), weight).sum().backward()
    _layer(x.double(), expected).sum().backward()
    return same(weight.grad, expected.grad, _TOLERANCE.times(10), "a gradient of a compiled function")


TABLE = [
    Program("function", _compiled, "full", _TOLERANCE, limit=300),
    Program("gradients", _gradients, "full", _TOLERANCE.times(10), limit=300),
]
