"""Rotary position embedding of the vendor's torch, against a plain reference."""

from __future__ import annotations

from typing import Any

import pytest
import torch
import torch_musa  # noqa: F401

functional: Any = torch.nn.functional
vendors: Any = torch.nn


def reference(x: torch.Tensor, angles: torch.Tensor, interleaved: bool, latent: bool) -> torch.Tensor:
    """`x` has the positions first. Pairs are complex numbers, which are multiplied by exp(i angle)."""
    size = angles.shape[-1]
    turned, rest = x[..., :size], x[..., size:]
    if latent:
        turned = torch.cat((turned[..., 0::2], turned[..., 1::2]), -1)
    pairs = turned.unflatten(-1, (-1, 2)) if interleaved else turned.unflatten(-1, (2, -1)).transpose(-1, -2)
    spread = angles.reshape(len(angles), 1, 1, size)
    both = spread.unflatten(-1, (-1, 2)) if interleaved else spread.unflatten(-1, (2, -1)).transpose(-1, -2)
    a, b = pairs.unbind(-1)
    made = torch.stack(
        (a * both[..., 0].cos() - b * both[..., 0].sin(), b * both[..., 1].cos() + a * both[..., 1].sin()), -1
    )
    return torch.cat((made.flatten(-2) if interleaved else made.transpose(-1, -2).flatten(-2), rest), -1)


@pytest.mark.parametrize("latent", [False, True])
@pytest.mark.parametrize("interleaved", [False, True])
@pytest.mark.parametrize("batch_first", [False, True])
@pytest.mark.parametrize("size", [8, 12])
def test_rope_and_its_gradient(size: int, batch_first: bool, interleaved: bool, latent: bool) -> None:
    torch.manual_seed(0)
    x, angles = torch.randn(5, 2, 3, size, requires_grad=True), torch.randn(5, 8)
    given = x.detach().transpose(0, 1) if batch_first else x.detach()
    there = given.to("musa").requires_grad_()
    module = vendors.RoPE(angles, interleaved, batch_first, latent).to("musa")
    made, expected = module(there), reference(x, angles, interleaved, latent)
    back = made.transpose(0, 1) if batch_first else made
    assert made.device.type == "musa" and made.is_contiguous()
    torch.testing.assert_close(back.cpu(), expected)
    weights = torch.randn_like(expected)
    back.backward(weights.to("musa"))
    expected.backward(weights)
    assert there.grad is not None and x.grad is not None
    torch.testing.assert_close((there.grad.transpose(0, 1) if batch_first else there.grad).cpu(), x.grad)


def test_rope_takes_what_the_vendors_takes() -> None:
    x, angles = torch.randn(5, 2, 3, 8), torch.randn(5, 8)
    half = functional.rope(x.to("musa", torch.float16), angles.to("musa"))
    assert half.dtype == torch.float16
    torch.testing.assert_close(half.cpu().float(), reference(x, angles, False, False), atol=1e-2, rtol=1e-2)
    with pytest.raises(RuntimeError, match="only support Float32 and Float16/Bfloat16"):
        functional.rope(x.to("musa", torch.float64), angles.to("musa"))


def test_rope_is_compiled_as_one_operator() -> None:
    x, angles = torch.randn(5, 2, 3, 8, device="musa"), torch.randn(5, 8, device="musa")
    compiled = torch.compile(functional.rope, backend="aot_eager", fullgraph=True)
    torch.testing.assert_close(compiled(x, angles), functional.rope(x, angles))
