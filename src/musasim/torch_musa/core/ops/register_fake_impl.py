"""The shapes and types of results, for tensors without values (FakeTensor), of operators that 2.9.1 no longer has."""

from __future__ import annotations

import torch
from torch import Tensor

from musasim.base import release


def _forward(
    input: Tensor, normalized_shape: list[int], eps: float, weight: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    outer = input.shape[: input.dim() - len(normalized_shape)]
    return torch.empty_like(input), input.new_empty(outer, dtype=torch.promote_types(input.dtype, torch.float32))


def _backward(
    grad_out: Tensor,
    invvar: Tensor,
    input: Tensor,
    normalized_shape: list[int],
    eps: float,
    weight: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    return torch.empty_like(input), input.new_empty(0) if weight is None else torch.empty_like(weight)


if not release.since("2.9.1"):
    torch.library.register_fake("aten::_fused_rmsnorm_forward", _forward)
    torch.library.register_fake("aten::_fused_rmsnorm_backward", _backward)
