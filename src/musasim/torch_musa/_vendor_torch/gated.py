"""Gated activations that the vendor's torch has: torch.swish_glu, torch.nn.SwishGLU and torch.gated_silu.

The first half of the last dimension goes through SiLU and is multiplied by the second half.
"""

from __future__ import annotations

from typing import Any

import torch

from .operators import add_activation, declared

_library: Any = torch.library
_SCHEMAS = (
    "gated_silu(Tensor input) -> Tensor",
    "swish_glu(Tensor input) -> Tensor",
    "_fused_swiglu_forward(Tensor input) -> Tensor",
    "_fused_swiglu_backward(Tensor grad, Tensor input) -> Tensor",
)


def install() -> None:
    """Add the operators and their names in torch, unless this torch has them."""
    if hasattr(torch, "swish_glu"):
        return
    library = declared(_SCHEMAS)
    library.impl("gated_silu", _gated_silu, "PrivateUse1")
    library.impl("swish_glu", _swish_glu, "CompositeImplicitAutograd")
    for key in ("PrivateUse1", "CPU"):
        library.impl("_fused_swiglu_forward", _forward, key)
        library.impl("_fused_swiglu_backward", _backward, key)
    _library.register_autograd("aten::_fused_swiglu_forward", _gradient, setup_context=_remember, lib=library)
    for name, shape in _SHAPES.items():
        _library.register_fake(f"aten::{name}", shape, lib=library)
    for schema in _SCHEMAS:
        name = schema.partition("(")[0]
        setattr(torch, name, _function(name))
    functional: Any = torch.nn.functional
    functional.swish_glu = torch.swish_glu  # type: ignore[attr-defined]
    add_activation("SwishGLU", SwishGLU)


class SwishGLU(torch.nn.Module):
    """swish_glu as a module."""

    def forward(self, input: torch.Tensor) -> torch.Tensor:
        functional: Any = torch.nn.functional
        made: torch.Tensor = functional.swish_glu(input)
        return made


SwishGLU.__module__ = "torch.nn.modules.activation"


def _function(name: str) -> Any:
    operator = getattr(torch.ops.aten, name)

    def call(*args: Any, **kwargs: Any) -> Any:
        return operator(*args, **kwargs)

    call.__name__ = call.__qualname__ = name
    call.__module__ = "torch"
    return call


def _halved(input: torch.Tensor) -> torch.Tensor:
    return input.new_empty((*input.shape[:-1], input.shape[-1] // 2))


_SHAPES = {
    "gated_silu": _halved,
    "_fused_swiglu_forward": _halved,
    "_fused_swiglu_backward": lambda grad, input: torch.empty_like(input, memory_format=torch.contiguous_format),
}


def _gated_silu(input: torch.Tensor) -> torch.Tensor:
    if input.dtype not in (torch.float32, torch.float16):
        raise RuntimeError(f"Dtype of input tensor of gated silu only support fp32 / fp16, but now it is {input.dtype}")
    if input.dim() < 2:
        raise RuntimeError("Dim of input tensor of gated silu should greater than 1")
    if not input.is_contiguous():
        raise RuntimeError("gated silu only support contiguous tensor")
    return _forward(input)


def _swish_glu(input: torch.Tensor) -> torch.Tensor:
    made: torch.Tensor = torch.ops.aten._fused_swiglu_forward(input)
    return made


def _forward(input: torch.Tensor) -> torch.Tensor:
    gate, value = input.float().chunk(2, dim=-1)
    return (torch.nn.functional.silu(gate) * value).to(input.dtype)


def _backward(grad: torch.Tensor, input: torch.Tensor) -> torch.Tensor:
    gate, value = input.float().chunk(2, dim=-1)
    sigmoid, upper = torch.sigmoid(gate), grad.float()
    down = upper * value * sigmoid * (1 + gate * (1 - sigmoid))
    return torch.cat((down, upper * gate * sigmoid), dim=-1).to(input.dtype)


def _remember(ctx: Any, inputs: tuple[torch.Tensor], output: torch.Tensor) -> None:
    ctx.save_for_backward(*inputs)


def _gradient(ctx: Any, grad: torch.Tensor) -> torch.Tensor:
    made: torch.Tensor = torch.ops.aten._fused_swiglu_backward(grad.contiguous(), *ctx.saved_tensors)
    return made
