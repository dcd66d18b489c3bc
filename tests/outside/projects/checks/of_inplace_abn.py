"""inplace_abn: batch norms with an activation, in place, by running and by batch statistics, with all gradients, in three types."""

from __future__ import annotations

from collections.abc import Callable

import torch
from inplace_abn.functions import inplace_abn
from torch.nn.functional import elu, leaky_relu

from report import Report

#: The kernels take both as floats, which these are.
SLOPE, SMALL = 0.25, 2.0**-16
ACTIVATIONS: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "leaky_relu": lambda x: leaky_relu(x, SLOPE),
    "elu": lambda x: elu(x, SLOPE),
    "identity": lambda x: x,
}

Statistics = tuple[torch.Tensor, torch.Tensor]


def formula(
    x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor, statistics: Statistics, training: bool, activation: str
) -> torch.Tensor:
    """It takes the size of the weight, to which it adds the small number as well."""
    places = [0, *range(2, x.ndim)]
    mean, variance = (x.mean(places), x.var(places, unbiased=False)) if training else statistics
    mean, variance, weight, bias = (each.view(1, -1, *[1] * (x.ndim - 2)) for each in (mean, variance, weight, bias))
    normal = (x - mean) / (variance + SMALL).sqrt()
    return ACTIVATIONS[activation](normal * (weight.abs() + SMALL) + bias)


def compare(shape: tuple[int, ...], activation: str, training: bool, dtype: torch.dtype, rtol: float) -> None:
    name = f"{activation} of {shape}, {dtype}, {'training' if training else 'running'}"
    of_weights = torch.float32 if dtype is torch.float16 else dtype
    x, (weight, bias) = torch.randn(shape).to(dtype), (torch.randn(2, shape[1]) + 2).to(of_weights)
    statistics = torch.randn(shape[1]).to(of_weights), (torch.rand(shape[1]) + 0.5).to(of_weights)
    exact = [each.double().clone().requires_grad_() for each in (x, weight, bias)]
    wanted = formula(
        exact[0], exact[1], exact[2], (statistics[0].double(), statistics[1].double()), training, activation
    )
    gradient = torch.randn(shape).to(dtype)
    wanted.backward(gradient.double())
    given = [each.cuda().requires_grad_() for each in (x, weight, bias)]
    kept = [each.cuda() for each in statistics]
    found = inplace_abn(given[0].clone(), given[1], given[2], *kept, training, 0.1, SMALL, activation, SLOPE)
    found.backward(gradient.cuda())
    report.agree(name, found, wanted, rtol, rtol)
    for place, each, other in zip(("x", "weight", "bias"), given, exact, strict=True):
        assert each.grad is not None and other.grad is not None
        report.agree(f"{name}, gradient of {place}", each.grad, other.grad, rtol, rtol * 10)
    if training:
        places = [0, *range(2, len(shape))]
        report.agree(f"{name}, mean", kept[0], statistics[0] * 0.9 + 0.1 * x.double().mean(places), rtol, rtol)
        report.agree(f"{name}, variance", kept[1], statistics[1] * 0.9 + 0.1 * x.double().var(places), rtol, rtol)


report = Report()
torch.manual_seed(0)
for shape in ((6, 5), (3, 7, 11), (2, 4, 9, 13)):
    for activation in ACTIVATIONS:
        for training in (True, False):
            compare(shape, activation, training, torch.float64, 1e-9)
            compare(shape, activation, training, torch.float32, 1e-4)
compare((4, 3, 8, 8), "leaky_relu", True, torch.float16, 2e-2)
compare((4, 3, 8, 8), "identity", False, torch.float16, 2e-2)
report.end()
