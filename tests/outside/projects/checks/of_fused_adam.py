"""DeepSpeed's fused Adam: steps of both kinds of decay over several tensors at once, against the formula in double precision."""

from __future__ import annotations

from typing import Any

import torch
from extension import load

from report import Report

Tensors = list[torch.Tensor]


def module() -> Any:
    """The extension alone: the package asks for what an installed DeepSpeed has."""
    return load("fused_adam_op", "deepspeed/ops/adam")


def step(tensors: list[Tensors], number: int, decoupled: bool, corrects: bool, decay: float) -> None:
    """One step in place, on lists of gradients, parameters, and their means and mean squares."""
    first, second = (1 - 0.9**number, 1 - 0.99**number) if corrects else (1.0, 1.0)
    for gradient, parameter, mean, square in zip(*tensors, strict=True):
        slope = gradient if decoupled else gradient + decay * parameter
        mean.mul_(0.9).add_(slope, alpha=0.1)
        square.mul_(0.99).add_(slope * slope, alpha=0.01)
        change = (mean / first) / ((square / second).sqrt() + 1e-6)
        parameter.sub_(0.01 * (change + decay * parameter if decoupled else change))


def compare(extension: Any, dtype: torch.dtype, decoupled: bool, corrects: bool, decay: float) -> None:
    """Three steps; of halves one, as their sums are rounded after each."""
    sizes, steps = ((3,), (700, 5), (2048 * 32 + 17,), ()), 3 if dtype is torch.float32 else 1
    tensors = [[torch.randn(size).to(dtype) for size in sizes] for _ in range(3)]
    tensors.append([each.square() for each in tensors[2]])
    exact = [[each.double().clone() for each in each_list] for each_list in tensors]
    given = [[each.cuda() for each in each_list] for each_list in tensors]
    overflow = torch.zeros(1, dtype=torch.int32).cuda()
    for number in range(1, steps + 1):
        step(exact, number, decoupled, corrects, decay)
        settings = 0.01, 0.9, 0.99, 1e-6, number, int(decoupled), int(corrects), decay
        extension.multi_tensor_adam(2048 * 32, overflow, given, *settings)
    tolerance = {torch.float32: 1e-5, torch.float16: 2e-3, torch.bfloat16: 2e-2}[dtype]
    for what, found, wanted in zip(("parameters", "means", "squares"), given[1:], exact[1:], strict=True):
        for i, (each, other) in enumerate(zip(found, wanted, strict=True)):
            name = f"{dtype}, {'decoupled' if decoupled else 'L2'}, {corrects}, decay {decay}: {what} {i}"
            report.agree(name, each, other, tolerance, tolerance)


report = Report()
torch.manual_seed(0)
extension = module()
for dtype in (torch.float32, torch.float16, torch.bfloat16):
    for decoupled in (False, True):
        for corrects in (False, True):
            for decay in (0.0, 0.1):
                compare(extension, dtype, decoupled, corrects, decay)
report.end()
