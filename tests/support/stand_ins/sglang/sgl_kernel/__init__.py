"""Stands in for sgl_kernel built for MUSA: kernels of a dense model in plain PyTorch, and names of all others."""

from __future__ import annotations

from typing import Any

import torch

from sgl_kernel._absent import absent

__version__ = "0.0.0+stand.in"


def rmsnorm(
    input: torch.Tensor,
    weight: torch.Tensor,
    eps: float = 1e-6,
    out: torch.Tensor | None = None,
    enable_pdl: bool | None = None,
) -> torch.Tensor:
    """Each row of `input` over the root of its mean square, times `weight`; computed in float32."""
    return _given(_normalized(input, eps).mul(weight.float()).to(input.dtype), out)


def fused_add_rmsnorm(
    input: torch.Tensor,
    residual: torch.Tensor,
    weight: torch.Tensor,
    eps: float = 1e-6,
    enable_pdl: bool | None = None,
) -> None:
    """`residual` becomes input + residual, and `input` its normalized value."""
    residual.add_(input)
    rmsnorm(residual, weight, eps, out=input)


def gemma_rmsnorm(
    input: torch.Tensor,
    weight: torch.Tensor,
    eps: float = 1e-6,
    out: torch.Tensor | None = None,
    enable_pdl: bool | None = None,
) -> torch.Tensor:
    """As rmsnorm, with 1 + weight for the weight."""
    return rmsnorm(input, weight + 1, eps, out)


def gemma_fused_add_rmsnorm(
    input: torch.Tensor,
    residual: torch.Tensor,
    weight: torch.Tensor,
    eps: float = 1e-6,
    enable_pdl: bool | None = None,
) -> None:
    """As fused_add_rmsnorm, with 1 + weight for the weight."""
    fused_add_rmsnorm(input, residual, weight + 1, eps)


def silu_and_mul(input: torch.Tensor, out: torch.Tensor | None = None) -> torch.Tensor:
    """The first half of each row through SiLU, times the second."""
    return _gated(torch.nn.functional.silu, input, out)


def gelu_and_mul(input: torch.Tensor, out: torch.Tensor | None = None) -> torch.Tensor:
    """The first half of each row through GELU, times the second."""
    return _gated(torch.nn.functional.gelu, input, out)


def gelu_tanh_and_mul(input: torch.Tensor, out: torch.Tensor | None = None) -> torch.Tensor:
    """The first half of each row through GELU's approximation by tanh, times the second."""
    return _gated(lambda each: torch.nn.functional.gelu(each, approximate="tanh"), input, out)


def weak_ref_tensor(tensor: torch.Tensor) -> torch.Tensor:
    """A tensor over the same memory. The kernel's does not keep the memory; this one does, which a simulator can afford."""
    return tensor.detach()


def _normalized(input: torch.Tensor, eps: float) -> torch.Tensor:
    wide = input.float()
    return wide * torch.rsqrt(wide.square().mean(dim=-1, keepdim=True) + eps)


def _gated(activation: Any, input: torch.Tensor, out: torch.Tensor | None) -> torch.Tensor:
    gate, value = input.chunk(2, dim=-1)
    return _given(activation(gate) * value, out)


def _given(result: torch.Tensor, out: torch.Tensor | None) -> torch.Tensor:
    return result if out is None else out.copy_(result)


def __getattr__(name: str) -> Any:
    return absent(__name__, name)
