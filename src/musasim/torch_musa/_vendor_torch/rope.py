"""Rotary position embedding that the vendor's torch has: torch.rope, torch.nn.functional.rope and torch.nn.RoPE."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from .operators import add_activation, declared

_library: Any = torch.library
_ARGUMENTS = "Tensor freq_cis, bool rotary_interleaved, bool batch_first, bool multi_latent_attention=False"
_SCHEMAS = (
    f"rope(Tensor input, {_ARGUMENTS}) -> Tensor",
    f"_fused_rope_forward(Tensor input, {_ARGUMENTS}) -> Tensor",
    f"_fused_rope_backward(Tensor grad, {_ARGUMENTS}) -> Tensor",
)
_TYPES = (torch.float32, torch.float16, torch.bfloat16)


def install() -> None:
    """Add the operators and their names in torch, unless this torch has them."""
    if hasattr(torch, "rope"):
        return
    library = declared(_SCHEMAS)
    library.impl("rope", _rope, "CompositeImplicitAutograd")
    library.impl("_fused_rope_forward", _forward, "PrivateUse1")
    library.impl("_fused_rope_backward", _backward, "PrivateUse1")
    _library.register_autograd("aten::_fused_rope_forward", _gradient, setup_context=_remember, lib=library)
    for name in ("_fused_rope_forward", "_fused_rope_backward"):
        _library.register_fake(f"aten::{name}", _like_the_input, lib=library)
    names: Any = torch
    names.rope = rope
    names.nn.functional.rope = rope
    add_activation("RoPE", RoPE)


def rope(
    input: Tensor,
    freq_cis: Tensor,
    rotary_interleaved: bool = False,
    batch_first: bool = False,
    multi_latent_attention: bool = False,
) -> Tensor:
    """Turn pairs of `input`'s last dimension by the angles `freq_cis`.

    `input` has the shape (positions, batch, heads, size), or with `batch_first` (batch, positions, heads, size), and `freq_cis`
    (positions, turned), where `turned` is at most `size`: what lies beyond stays as it is. A pair is the elements i and
    i + turned / 2, or with `rotary_interleaved` two neighbours. With `multi_latent_attention`, neighbours are taken apart first.
    """
    operator: Any = torch.ops.aten.rope
    made: Tensor = operator(input, freq_cis, rotary_interleaved, batch_first, multi_latent_attention)
    return made


class RoPE(torch.nn.Module):
    """torch.nn.functional.rope as a module, with the angles as a buffer."""

    def __init__(
        self,
        freq_cis: Tensor,
        rotary_interleaved: bool = False,
        batch_first: bool = False,
        multi_latent_attention: bool = False,
    ) -> None:
        super().__init__()
        self.register_buffer("freq_cis", freq_cis)
        self.rotary_interleaved = rotary_interleaved
        self.batch_first = batch_first
        self.multi_latent_attention = multi_latent_attention

    def forward(self, input: Tensor) -> Tensor:
        functional: Any = torch.nn.functional
        options = (self.rotary_interleaved, self.batch_first, self.multi_latent_attention)
        made: Tensor = functional.rope(input, self.freq_cis, *options)
        return made


RoPE.__module__ = "torch.nn.modules.activation"


def _rope(input: Tensor, freq_cis: Tensor, interleaved: bool, batch_first: bool, latent: bool = False) -> Tensor:
    operator: Any = torch.ops.aten._fused_rope_forward
    made: Tensor = operator(input, freq_cis, interleaved, batch_first, latent)
    return made


def _forward(input: Tensor, freq_cis: Tensor, interleaved: bool, batch_first: bool, latent: bool = False) -> Tensor:
    turned, rest, cosines, sines = _parts(input, freq_cis, batch_first)
    if latent:
        turned = _apart(turned)
    made = turned * cosines + _quarter_turn(turned, interleaved) * sines
    return torch.cat((made, rest), dim=-1).to(input.dtype)


def _backward(grad: Tensor, freq_cis: Tensor, interleaved: bool, batch_first: bool, latent: bool = False) -> Tensor:
    turned, rest, cosines, sines = _parts(grad, freq_cis, batch_first)
    made = turned * cosines - _quarter_turn(turned * sines, interleaved)
    if latent:
        made = _together(made)
    return torch.cat((made, rest), dim=-1).to(grad.dtype)


def _parts(input: Tensor, freq_cis: Tensor, batch_first: bool) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """What is turned, what is not, and the cosines and sines for each position."""
    if input.dtype not in _TYPES:
        raise RuntimeError(f"Dtype of input tensor only support Float32 and Float16/Bfloat16, but now is {input.dtype}")
    size = freq_cis.shape[-1]
    angles = freq_cis.float().reshape(-1, 1, 1, size)
    if batch_first:
        angles = angles.transpose(0, 1)
    values = input.float()
    return values[..., :size], values[..., size:], angles.cos(), angles.sin()


def _quarter_turn(x: Tensor, interleaved: bool) -> Tensor:
    """(a, b) as (-b, a) for each pair. Its transpose is its negative."""
    if interleaved:
        return torch.stack((-x[..., 1::2], x[..., 0::2]), dim=-1).flatten(-2)
    first, second = x.chunk(2, dim=-1)
    return torch.cat((-second, first), dim=-1)


def _apart(x: Tensor) -> Tensor:
    return torch.cat((x[..., 0::2], x[..., 1::2]), dim=-1)


def _together(x: Tensor) -> Tensor:
    first, second = x.chunk(2, dim=-1)
    return torch.stack((first, second), dim=-1).flatten(-2)


def _like_the_input(input: Tensor, *rest: Any) -> Tensor:
    return torch.empty_like(input, memory_format=torch.contiguous_format)


def _remember(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
    _, angles, *ctx.options = inputs
    ctx.save_for_backward(angles)


def _gradient(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
    operator: Any = torch.ops.aten._fused_rope_backward
    return operator(grad, *ctx.saved_tensors, *ctx.options), None, None, None, None
