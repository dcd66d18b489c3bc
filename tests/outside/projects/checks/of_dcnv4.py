"""DCNv4: deformable convolution and deformable attention, with gradients, by bilinear samples of plain PyTorch."""

from __future__ import annotations

import os

# The package looks up how much shared memory a block has by the capability, and knows NVIDIA's alone.
os.environ.setdefault("TORCHADA_CUDA_CAPABILITY", "8.0")

import torch
from DCNv4.functions.dcnv4_func import DCNv4Function
from DCNv4.functions.flash_deform_attn_func import FlashDeformAttnFunction

from report import Report

report = Report()
torch.manual_seed(0)


def sampled(images: torch.Tensor, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """Values of images (B, C, H, W) at points (B, Q), zero outside: (B, C, Q)."""
    height, width = images.shape[-2:]
    grid = torch.stack([2 * x / (width - 1) - 1, 2 * y / (height - 1) - 1], -1).unsqueeze(1)
    return torch.nn.functional.grid_sample(images, grid, align_corners=True).squeeze(2)


def convolved(images: torch.Tensor, offsets: torch.Tensor, groups: int, scale: float) -> torch.Tensor:
    """A kernel of 3 x 3 with one pixel of padding; for each group 18 offsets (x, y) and 9 weights."""
    batch, height, width, channels = images.shape
    own = channels // groups
    out = []
    rows, columns = torch.meshgrid(torch.arange(height), torch.arange(width), indexing="ij")
    for group in range(groups):
        plane = images[..., group * own : (group + 1) * own].permute(0, 3, 1, 2)
        part = offsets[..., group * 27 : (group + 1) * 27].reshape(batch, height * width, 27)
        total = torch.zeros(batch, own, height * width, dtype=images.dtype)
        for at in range(9):
            x = columns.flatten() - scale + (at // 3 + part[..., 2 * at]) * scale
            y = rows.flatten() - scale + (at % 3 + part[..., 2 * at + 1]) * scale
            total = total + sampled(plane, x, y) * part[..., 18 + at].unsqueeze(1)
        out.append(total.reshape(batch, own, height, width).permute(0, 2, 3, 1))
    return torch.cat(out, -1)


def attended(values: torch.Tensor, shapes: list[tuple[int, int]], points: torch.Tensor, count: int) -> torch.Tensor:
    """values (B, S, M, D); points (B, Q, M, 3 * levels * count): places between 0 and 1, and weights before softmax."""
    batch, _, heads, own = values.shape
    queries, levels = points.shape[1], len(shapes)
    places = points[..., : 2 * levels * count].reshape(batch, queries, heads, levels, count, 2)
    weights = points[..., 2 * levels * count :].softmax(-1).reshape(batch, queries, heads, levels, count)
    total, first = torch.zeros(batch, queries, heads, own, dtype=values.dtype), 0
    for level, (height, width) in enumerate(shapes):
        part = values[:, first : first + height * width].permute(0, 2, 3, 1).reshape(batch * heads, own, height, width)
        first += height * width
        where = places[:, :, :, level].permute(0, 2, 1, 3, 4).reshape(batch * heads, queries * count, 2)
        taken = sampled(part, where[..., 0] * width - 0.5, where[..., 1] * height - 0.5)
        taken = taken.reshape(batch, heads, own, queries, count).permute(0, 3, 1, 2, 4)
        total = total + (taken * weights[:, :, :, level].unsqueeze(3)).sum(-1)
    return total.flatten(2)


for groups, own, height, width in ((2, 16, 7, 9), (4, 32, 5, 6)):
    name = f"convolution of {groups} groups of {own}, {height} x {width}"
    images = torch.randn(2, height, width, groups * own, dtype=torch.double, requires_grad=True)
    size = -(-groups * 27 // 8) * 8
    offsets = (torch.rand(2, height, width, size, dtype=torch.double) * 2 - 1).requires_grad_()
    wanted = convolved(images, offsets, groups, 1.5)
    gradient = torch.randn_like(wanted)
    wanted.backward(gradient)
    x, y = (each.detach().float().cuda().requires_grad_() for each in (images, offsets))
    result = DCNv4Function.apply(x, y, 3, 3, 1, 1, 1, 1, 1, 1, groups, own, 1.5, 256, False)
    report.agree(name, result, wanted, atol=1e-3)
    result.backward(gradient.float().cuda())
    assert x.grad is not None and y.grad is not None and images.grad is not None and offsets.grad is not None
    report.agree(f"{name}, gradient of images", x.grad, images.grad, rtol=1e-3, atol=1e-3)
    used = groups * 27
    report.agree(f"{name}, of offsets", y.grad[..., :used], offsets.grad[..., :used], rtol=1e-3, atol=1e-3)

for shapes, count in (([(6, 7)], 4), ([(8, 6), (4, 3)], 8)):
    name = f"attention of {len(shapes)} levels, {count} points"
    size = sum(height * width for height, width in shapes)
    values = torch.randn(2, size, 4, 16, dtype=torch.double, requires_grad=True)
    points = torch.rand(2, 10, 4, 3 * len(shapes) * count, dtype=torch.double, requires_grad=True)
    wanted = attended(values, shapes, points, count)
    gradient = torch.randn_like(wanted)
    wanted.backward(gradient)
    of_levels = torch.tensor(shapes).cuda()
    first = torch.cat([of_levels.new_zeros(1), of_levels.prod(1).cumsum(0)[:-1]])
    x, y = (each.detach().float().cuda().requires_grad_() for each in (values, points))
    result = FlashDeformAttnFunction.apply(x, of_levels, first, y, 64, count)
    report.agree(name, result, wanted, atol=1e-3)
    result.backward(gradient.float().cuda())
    assert x.grad is not None and y.grad is not None and values.grad is not None and points.grad is not None
    report.agree(f"{name}, gradient of values", x.grad, values.grad, rtol=1e-3, atol=1e-3)
    report.agree(f"{name}, of points", y.grad, points.grad, rtol=1e-3, atol=1e-3)
report.end()
