"""Kernels that torchada composes of products compute under autocast as without it: autocast has no rule for their operators."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
import torch.nn.functional as F

ATEN = torch.ops.aten
Tensors = tuple[torch.Tensor, ...]


def attention() -> Tensors:
    generator = torch.Generator().manual_seed(0)
    query, key, value, gradient = (torch.randn(64, 2, 16, generator=generator).mul(3).half().cuda() for _ in range(4))
    offsets = torch.tensor([0, 30, 64], dtype=torch.int32, device="cuda")
    lengths = offsets, offsets, 34, 34, 0.0, False
    output, sums, *state, _ = ATEN._flash_attention_forward(query, key, value, *lengths, False)
    gradients = ATEN._flash_attention_backward(gradient, query, key, value, output, sums, *lengths, *state)
    return output, sums, *gradients


def gradient_of_an_image() -> Tensors:
    image = torch.linspace(-1, 1, 16).reshape(1, 1, 4, 4).cuda().requires_grad_()
    resized = F.interpolate(image, size=(7, 7), mode="bilinear")
    return torch.autograd.grad(resized, image, torch.full_like(resized, 1.2345678))


def scaled_product() -> Tensors:
    matrix = torch.linspace(-2, 2, 256 * 256).reshape(256, 256).to("cuda", torch.float8_e4m3fn)
    scale = torch.linspace(0.1, 1, 512).reshape(2, 256).cuda().t()
    recipe = F.ScalingType.BlockWise1x128
    return (F.scaled_mm(matrix, matrix.t(), scale, recipe, scale, recipe, output_dtype=torch.float32),)


CALLS: dict[str, Callable[[], Tensors]] = {
    "attention": attention,
    "gradient of an image": gradient_of_an_image,
    **({"scaled product": scaled_product} if hasattr(F, "scaled_mm") else {}),
}


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("name", CALLS)
def test_as_without_autocast(name: str, dtype: torch.dtype) -> None:
    wanted = CALLS[name]()
    with torch.autocast("cuda", dtype=dtype):
        found = CALLS[name]()
    assert all(torch.equal(one, other) for one, other in zip(found, wanted, strict=True))
