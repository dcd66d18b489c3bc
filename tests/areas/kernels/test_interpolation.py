"""Gradients of torch.nn.functional.interpolate: torch_musa 2.7.1 has those of "nearest" in every mode."""

from __future__ import annotations

from typing import Any

import pytest
import torch
import torch.nn.functional as F

MODES: dict[str, tuple[str, int, dict[str, Any]]] = {
    "linear": ("linear", 1, {}),
    "bilinear": ("bilinear", 2, {}),
    "bicubic": ("bicubic", 2, {}),
    "trilinear": ("trilinear", 3, {}),
    "aligned linear": ("linear", 1, {"align_corners": True}),
    "aligned bilinear": ("bilinear", 2, {"align_corners": True}),
    "aligned bicubic": ("bicubic", 2, {"align_corners": True}),
    "aligned trilinear": ("trilinear", 3, {"align_corners": True}),
    "smooth bilinear": ("bilinear", 2, {"antialias": True}),
    "smooth bicubic": ("bicubic", 2, {"antialias": True}),
    "exact 1d": ("nearest-exact", 1, {}),
    "exact 2d": ("nearest-exact", 2, {}),
    "exact 3d": ("nearest-exact", 3, {}),
    "nearest": ("nearest", 2, {}),
}
TARGETS: list[dict[str, Any]] = [{"size": 7}, {"size": 3}, {"size": 5}, {"scale_factor": 1.7}, {"scale_factor": 0.6}]
TARGETS.append({"scale_factor": 2.5, "recompute_scale_factor": True})


def gradient(x: torch.Tensor, mode: str, options: dict[str, Any]) -> torch.Tensor:
    x = x.clone(memory_format=torch.preserve_format).requires_grad_()
    y = F.interpolate(x, mode=mode, **options)
    y.backward(torch.linspace(-1, 1, y.numel(), dtype=y.dtype).to(y.device).reshape(y.shape))
    assert x.grad is not None
    return x.grad


@pytest.mark.parametrize("target", TARGETS, ids=str)
@pytest.mark.parametrize("name", MODES)
def test_as_on_the_cpu(name: str, target: dict[str, Any]) -> None:
    mode, dimensions, options = MODES[name]
    x = torch.linspace(-1, 1, 6 * 5**dimensions).reshape(2, 3, *[5] * dimensions)
    found, wanted = (gradient(x.to(device), mode, {**options, **target}) for device in ("cuda:1", "cpu"))
    torch.testing.assert_close(found.cpu(), wanted)


def test_sizes_that_differ_by_direction() -> None:
    x = torch.rand(2, 3, 4, 9)
    options = {"size": (11, 2), "antialias": True}
    found, wanted = (gradient(x.to(device), "bicubic", options) for device in ("cuda", "cpu"))
    torch.testing.assert_close(found.cpu(), wanted)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float64])
def test_data_types(dtype: torch.dtype) -> None:
    x = torch.linspace(-1, 1, 32).reshape(1, 2, 4, 4)
    found = gradient(x.to("cuda", dtype), "bilinear", {"size": 6})
    assert found.dtype == dtype
    torch.testing.assert_close(found.cpu().float(), gradient(x, "bilinear", {"size": 6}), rtol=1e-2, atol=1e-2)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("mode", ["bilinear", "bicubic"])
@pytest.mark.parametrize("size", [3, 7])
def test_halves_with_antialias(size: int, mode: str, dtype: torch.dtype) -> None:
    """CUDA takes them, and adds up in single precision; PyTorch refuses them on the CPU."""
    x = torch.linspace(-1, 1, 32).reshape(1, 2, 4, 4).to(dtype)
    options: dict[str, Any] = {"size": size, "antialias": True}
    layout = torch.channels_last
    found = F.interpolate(x.cuda().contiguous(memory_format=layout), mode=mode, **options)
    assert found.dtype == dtype and found.is_contiguous(memory_format=layout)
    assert torch.equal(found.cpu(), F.interpolate(x.float(), mode=mode, **options).to(dtype))
    slope = gradient(x.cuda(), mode, options)
    assert slope.dtype == dtype
    torch.testing.assert_close(slope.cpu().float(), gradient(x.float(), mode, options), rtol=1e-2, atol=1e-2)


def test_memory_formats() -> None:
    x = torch.rand(2, 3, 4, 4).to(memory_format=torch.channels_last)
    found, wanted = (gradient(x.to(device), "bilinear", {"size": 8}) for device in ("cuda", "cpu"))
    assert found.is_contiguous(memory_format=torch.channels_last)
    torch.testing.assert_close(found.cpu(), wanted)


def test_it_is_captured() -> None:
    x = torch.rand(1, 1, 4, 4, device="cuda", requires_grad=True)
    grad = torch.rand(1, 1, 8, 8, device="cuda")

    def step() -> torch.Tensor:
        (found,) = torch.autograd.grad(F.interpolate(x, size=8, mode="bilinear"), x, grad)
        return found

    step()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        found = step()
    grad.copy_(torch.rand(1, 1, 8, 8))
    graph.replay()
    torch.testing.assert_close(found, step())


@pytest.mark.parametrize("order", [torch.contiguous_format, torch.channels_last])
@pytest.mark.parametrize(
    "name", ["bilinear", "bicubic", "smooth bilinear", "smooth bicubic", "exact 2d", "trilinear", "exact 3d"]
)
def test_strides(name: str, order: torch.memory_format) -> None:
    """By the mode, gradients keep the layout of what they are given, or are contiguous."""
    mode, dimensions, options = MODES[name]
    if dimensions == 3 and order == torch.channels_last:
        order = torch.channels_last_3d
    strides = []
    for device in ("cuda", "cpu"):
        x = torch.ones(2, 3, *[4] * dimensions, device=device).requires_grad_()
        y = F.interpolate(x, size=6, mode=mode, **options)
        (computed,) = torch.autograd.grad(y, x, torch.ones(y.shape, device=device).contiguous(memory_format=order))
        strides.append(computed.stride())
    assert strides[0] == strides[1]
