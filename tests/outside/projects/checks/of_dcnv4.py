"""DCNv4: deformable convolutions in double precision, and gradients by autograd, for one thread of a group and for several."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import torch
from extension import load

from report import Report


def module() -> Any:
    """The extension alone: the package's own code asks for the capability of an NVIDIA GPU."""
    return load("DCNv4.ext", "DCNv4")


class Shape(NamedTuple):
    """A square image of `size`, of `groups` of `channels`, that a square of `KERNEL` is moved over."""

    size: int
    groups: int
    channels: int
    scale: float
    softmax: bool


KERNEL, PADDING = 3, 1
POINTS = KERNEL * KERNEL


def taken(image: torch.Tensor, down: torch.Tensor, right: torch.Tensor) -> torch.Tensor:
    """What lies between the pixels at places of (batch, size, size, groups), for all channels; nothing outside."""
    batch, size, _, groups, _ = image.shape
    each = torch.arange(batch).view(-1, 1, 1, 1).expand_as(down), torch.arange(groups).expand_as(down)
    inside = (down > -1) & (right > -1) & (down < size) & (right < size)
    top, left = down.detach().floor(), right.detach().floor()
    total = torch.zeros((), dtype=image.dtype)
    for below in (0, 1):
        for beside in (0, 1):
            row, column = (top + below).long(), (left + beside).long()
            there = inside & (row >= 0) & (row < size) & (column >= 0) & (column < size)
            share = (1 - (down - top - below).abs()) * (1 - (right - left - beside).abs()) * there
            pixels = image[each[0], row.clamp(0, size - 1), column.clamp(0, size - 1), each[1]]
            total = total + share.unsqueeze(-1) * pixels
    return total


def formula(image: torch.Tensor, offsets: torch.Tensor, shape: Shape) -> torch.Tensor:
    batch, size = image.shape[:2]
    given = offsets[..., : shape.groups * POINTS * 3].reshape(batch, size, size, shape.groups, POINTS * 3)
    moved, weights = given[..., : 2 * POINTS].unflatten(-1, (POINTS, 2)), given[..., 2 * POINTS :]
    weights = weights.softmax(-1) if shape.softmax else weights
    image = image.reshape(batch, size, size, shape.groups, shape.channels)
    half = (KERNEL - 1) // 2
    rows, columns = torch.arange(size).view(1, size, 1, 1), torch.arange(size).view(1, 1, size, 1)
    total = torch.zeros((), dtype=image.dtype)
    for point in range(POINTS):
        i, j = divmod(point, KERNEL)
        right = half - PADDING + columns - half * shape.scale + (i + moved[..., point, 0]) * shape.scale
        down = half - PADDING + rows - half * shape.scale + (j + moved[..., point, 1]) * shape.scale
        total = total + weights[..., point].unsqueeze(-1) * taken(image, down, right)
    return total.flatten(3)


def compare(
    extension: Any, shape: Shape, strides: tuple[int, int], threads: tuple[int, int], dtype: torch.dtype
) -> None:
    """`strides` are the channels of a thread, forward and back; `threads` those of a block."""
    tolerance = 1e-5 if dtype is torch.float32 else 5e-3
    width = math.ceil(shape.groups * POINTS * 3 / 8) * 8
    image = torch.rand(1, shape.size, shape.size, shape.groups * shape.channels).to(dtype)
    offsets = torch.rand(1, shape.size, shape.size, width).mul(2).sub(1).to(dtype)
    exact = [each.double().requires_grad_() for each in (image, offsets)]
    wanted = formula(exact[0], exact[1], shape)
    gradient = torch.rand(wanted.shape).to(dtype)
    wanted.backward(gradient.double())
    places = (KERNEL, KERNEL, 1, 1, PADDING, PADDING, 1, 1, shape.groups, shape.channels, shape.scale, 64)
    given = image.cuda(), offsets.cuda()
    found = extension.dcnv4_forward(*given, *places, 0, strides[0], threads[0], shape.softmax)
    back = extension.dcnv4_backward(*given, *places, gradient.cuda(), 0, strides[1], threads[1], shape.softmax)
    count = shape.channels // strides[1]
    name = f"{dtype}, {count} threads of a group going back, {'softmax' if shape.softmax else 'plain'}, {shape.scale}"
    report.agree(name, found.view_as(wanted), wanted, tolerance, tolerance)
    for place, each, other in zip(("image", "offsets"), back, exact, strict=True):
        assert other.grad is not None
        report.agree(f"{name}, gradient of the {place}", each, other.grad, tolerance, tolerance * 4)


report = Report()
torch.manual_seed(0)
extension = module()
for dtype in (torch.float32, torch.float16):
    for scale in (1.0, 1.5):
        compare(extension, Shape(4, 2, 8, scale, False), (8, 8), (32, 32), dtype)
        compare(extension, Shape(4, 2, 32, scale, True), (8, 8), (128, 128), dtype)
        compare(extension, Shape(4, 2, 32, scale, True), (8, 2), (128, 128), dtype)
        compare(extension, Shape(4, 2, 32, scale, False), (8, 8), (128, 128), dtype)
report.end()
