"""Two operators that the vendor's torch declares up to 2.7.1: root mean square normalisation in one kernel, and its backward.

Since 2.9.1, torch's own operator of that kind is in their place. What tensors without values give is told by torch_musa itself, in
`core.ops`.
"""

from __future__ import annotations

import torch
from torch import Tensor

from musasim.base import release

from .operators import declared

_ARGUMENTS = "int[] normalized_shape, float eps, Tensor? weight=None"
_SCHEMAS = (
    f"_fused_rmsnorm_forward(Tensor input, {_ARGUMENTS}) -> (Tensor, Tensor)",
    f"_fused_rmsnorm_backward(Tensor grad_out, Tensor invvar, Tensor input, {_ARGUMENTS}) -> (Tensor, Tensor)",
)


def forward(
    input: Tensor, normalized_shape: list[int], eps: float, weight: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """The normalised input, and the factors by which it was multiplied, in single precision at least."""
    dims = _dims(normalized_shape)
    values = input.to(_precision(input))
    factors = torch.rsqrt(values.square().mean(dims) + eps)
    out = values * _spread(factors, normalized_shape)
    return (out if weight is None else out * weight).to(input.dtype), factors


def backward(
    grad_out: Tensor,
    invvar: Tensor,
    input: Tensor,
    normalized_shape: list[int],
    eps: float,
    weight: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """The gradients of the input and of the weight; the latter is empty if there is no weight."""
    dims = _dims(normalized_shape)
    factors = _spread(invvar, normalized_shape)
    grad, normal = grad_out.to(_precision(input)), input.to(_precision(input)) * factors
    scaled = grad if weight is None else grad * weight
    grad_input = factors * (scaled - normal * (scaled * normal).mean(dims, keepdim=True))
    if weight is None:
        return grad_input.to(input.dtype), input.new_empty(0)
    outer = list(range(input.dim() - len(normalized_shape)))
    grad_weight = (grad * normal).sum(outer) if outer else grad * normal
    return grad_input.to(input.dtype), grad_weight.to(weight.dtype)


def _dims(normalized_shape: list[int]) -> list[int]:
    return list(range(-len(normalized_shape), 0))


def _precision(tensor: Tensor) -> torch.dtype:
    return torch.promote_types(tensor.dtype, torch.float32)


def _spread(factors: Tensor, normalized_shape: list[int]) -> Tensor:
    return factors.reshape(*factors.shape, *(1 for _ in normalized_shape))


def install() -> None:
    """Declare the operators where the release has them, unless this torch does."""
    if release.since("2.9.1"):
        return
    for schema, kernel in zip(_SCHEMAS, (forward, backward)):
        name = schema.split("(")[0]
        if not hasattr(torch.ops.aten, name):
            declared([schema]).impl(name, kernel, "PrivateUse1")
