"""A small package in the style of CUDA projects (the pattern of vLLM's direct_register_custom_op). It mentions only CUDA."""

from collections.abc import Callable

import torch
from torch.library import Library

library = Library("vllm_style", "FRAGMENT")


def direct_register_custom_op(
    op_name: str,
    op_func: Callable,
    mutates_args: list[str] | None = None,
    fake_impl: Callable | None = None,
    dispatch_key: str = "CUDA",
    tags: tuple[torch.Tag, ...] = (),
) -> None:
    schema = torch.library.infer_schema(op_func, mutates_args=mutates_args or [])
    library.define(op_name + schema, tags=tags)
    library.impl(op_name, op_func, dispatch_key=dispatch_key)
    if fake_impl is not None:
        library._register_fake(op_name, fake_impl)


def _rms_norm(x: torch.Tensor, weight: torch.Tensor, epsilon: float = 1e-6) -> torch.Tensor:
    assert x.is_cuda
    scale = torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + epsilon)
    return x * scale * weight


def _rms_norm_fake(x: torch.Tensor, weight: torch.Tensor, epsilon: float = 1e-6) -> torch.Tensor:
    return torch.empty_like(x)


def _add_in_place(x: torch.Tensor, y: torch.Tensor) -> None:
    assert x.is_cuda
    x.add_(y)


def _add_in_place_fake(x: torch.Tensor, y: torch.Tensor) -> None:
    return


direct_register_custom_op("rms_norm", _rms_norm, fake_impl=_rms_norm_fake)
direct_register_custom_op("add_in_place", _add_in_place, mutates_args=["x"], fake_impl=_add_in_place_fake)


class RMSNorm(torch.nn.Module):
    def __init__(self, size: int) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(size, device="cuda"))

    def forward(self, x: torch.Tensor, residual: torch.Tensor) -> torch.Tensor:
        torch.ops.vllm_style.add_in_place(x, residual)
        return torch.ops.vllm_style.rms_norm(x, self.weight)
