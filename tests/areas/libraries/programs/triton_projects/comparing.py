"""What the programs beside this one share: each compares a package's Triton kernels on the device with torch on the CPU."""

from __future__ import annotations

import json
from collections.abc import Callable

import torch

Compute = Callable[..., torch.Tensor]


def error(found: torch.Tensor, expected: torch.Tensor) -> float:
    """The largest difference; the device is that of `found`."""
    assert found.device.type in ("cuda", "musa"), found.device
    assert found.shape == expected.shape, (found.shape, expected.shape)
    return (found.detach().double().cpu() - expected.detach().double().cpu()).abs().max().item()


def with_gradients(ours: Compute, reference: Compute, *inputs: torch.Tensor) -> float:
    """The largest difference in the result and in the gradients of all inputs."""
    here = [each.clone().cuda().requires_grad_() for each in inputs]
    there = [each.clone().requires_grad_() for each in inputs]
    results = ours(*here), reference(*there)
    for result in results:
        weights = torch.linspace(0.5, 1, result.numel(), device=result.device).view_as(result)
        (result * weights).sum().backward()
    gradients = [error(mine.grad, other.grad) for mine, other in zip(here, there)]
    return max([error(*results), *gradients])


def report(cases: dict[str, Callable[[], float]]) -> None:
    """Run the cases; print the error of each as JSON, or what it raised."""
    found: dict[str, float | str] = {}
    for name, case in cases.items():
        torch.manual_seed(0)
        try:
            found[name] = case()
        except Exception as raised:
            found[name] = f"{type(raised).__name__}: {raised}"
    print(json.dumps(found))
