"""The five functions that torch.nn.SyncBatchNorm is made of, which PyTorch has for GPUs alone.

Statistics are per channel, the second dimension, and in float32 at least.
"""

from __future__ import annotations

from typing import Any

import torch

Pair = tuple[torch.Tensor, torch.Tensor]


def batch_norm_stats(input: torch.Tensor, eps: float) -> Pair:
    """The mean of each channel, and 1 / sqrt(variance + eps)."""
    x, dims = _wide(input), _others(input)
    return x.mean(dims), (x.var(dims, correction=0) + eps).rsqrt()


def batch_norm_gather_stats_with_counts(
    input: torch.Tensor,
    mean: torch.Tensor,
    invstd: torch.Tensor,
    running_mean: torch.Tensor | None,
    running_var: torch.Tensor | None,
    momentum: float,
    eps: float,
    counts: torch.Tensor,
) -> Pair:
    """The statistics of all processes together, from those of each (rows of `mean` and `invstd`) and their numbers of values."""
    share = counts.to(mean.dtype).unsqueeze(1)
    count = share.sum()
    whole = (mean * share).sum(0) / count
    of_each = invstd.square().reciprocal() - eps
    variance = ((of_each + (mean - whole).square()) * share).sum(0) / count
    if running_mean is not None:
        running_mean.lerp_(whole.to(running_mean.dtype), momentum)
    if running_var is not None:
        unbiased = variance * count / (count - 1)
        running_var.lerp_(unbiased.to(running_var.dtype), momentum)
    return whole, (variance + eps).rsqrt()


def batch_norm_elemt(
    input: torch.Tensor, weight: Any, bias: Any, mean: torch.Tensor, invstd: torch.Tensor, eps: float
) -> torch.Tensor:
    """The normalised input."""
    x = (_wide(input) - _as(mean, input)) * _as(invstd, input)
    x = x if weight is None else x * _as(weight, input)
    x = x if bias is None else x + _as(bias, input)
    return x.to(input.dtype)


def batch_norm_backward_reduce(
    grad_out: torch.Tensor,
    input: torch.Tensor,
    mean: torch.Tensor,
    invstd: torch.Tensor,
    weight: Any,
    input_g: bool,
    weight_g: bool,
    bias_g: bool,
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
    """The sums of this process that the gradients need, and the gradients of weight and bias."""
    grad, dims = _wide(grad_out), _others(input)
    total = grad.sum(dims)
    moment = (grad * (_wide(input) - _as(mean, input))).sum(dims)
    kind = mean.dtype if weight is None else weight.dtype
    return total, moment, (moment * invstd).to(kind), total.to(kind)


def batch_norm_backward_elemt(
    grad_out: torch.Tensor,
    input: torch.Tensor,
    mean: torch.Tensor,
    invstd: torch.Tensor,
    weight: Any,
    sum_dy: torch.Tensor,
    sum_dy_xmu: torch.Tensor,
    count: torch.Tensor,
) -> torch.Tensor:
    """The gradient of the input; `sum_dy` and `sum_dy_xmu` are of all processes, `count` has their numbers of values."""
    number = count.sum().to(mean.dtype)
    centred = _wide(input) - _as(mean, input)
    slope = _as(invstd.square() * sum_dy_xmu / number, input)
    grad = (_wide(grad_out) - _as(sum_dy / number, input) - centred * slope) * _as(invstd, input)
    grad = grad if weight is None else grad * _as(weight, input)
    return grad.to(input.dtype)


def _wide(x: torch.Tensor) -> torch.Tensor:
    return x.float() if x.dtype in (torch.float16, torch.bfloat16) else x


def _others(x: torch.Tensor) -> tuple[int, ...]:
    return tuple(dimension for dimension in range(x.dim()) if dimension != 1)


def _as(channels: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    """Numbers per channel, in a shape that goes with `x`."""
    return channels.view(-1, *[1] * (x.dim() - 2))
