"""diff-gaussian-rasterization: images of Gaussians by the paper, pixel by pixel, and their gradients by autograd."""

from __future__ import annotations

import math

import torch
from diff_gaussian_rasterization import GaussianRasterizationSettings, GaussianRasterizer

from report import Report

WIDTH, HEIGHT, TAN = 48, 32, 0.5
NEAR, FAR = 0.01, 100.0


def rotation(q: torch.Tensor) -> torch.Tensor:
    r, x, y, z = q.unbind(-1)
    rows = [
        [1 - 2 * (y * y + z * z), 2 * (x * y - r * z), 2 * (x * z + r * y)],
        [2 * (x * y + r * z), 1 - 2 * (x * x + z * z), 2 * (y * z - r * x)],
        [2 * (x * z - r * y), 2 * (y * z + r * x), 1 - 2 * (x * x + y * y)],
    ]
    return torch.stack([torch.stack(row, -1) for row in rows], -2)


def reference(
    means: torch.Tensor,
    scales: torch.Tensor,
    quaternions: torch.Tensor,
    opacity: torch.Tensor,
    colours: torch.Tensor,
    background: torch.Tensor,
) -> torch.Tensor:
    """The camera looks along z from the origin."""
    axes = rotation(quaternions) * scales[:, None]
    covariance = axes @ axes.mT
    x, y, z = means.unbind(-1)
    tall = TAN * HEIGHT / WIDTH
    fx, fy = WIDTH / (2 * TAN), HEIGHT / (2 * tall)
    zero = torch.zeros_like(z)
    jacobian = torch.stack(
        [torch.stack([fx / z, zero, -fx * x / z**2], -1), torch.stack([zero, fy / z, -fy * y / z**2], -1)], -2
    )
    flat = jacobian @ covariance @ jacobian.mT + 0.3 * torch.eye(2, dtype=means.dtype)
    centre = torch.stack([((x / (z * TAN) + 1) * WIDTH - 1) / 2, ((y / (z * tall) + 1) * HEIGHT - 1) / 2], -1)
    grid = torch.stack(torch.meshgrid(torch.arange(WIDTH), torch.arange(HEIGHT), indexing="xy"), -1).to(means.dtype)
    image, light = torch.zeros(3, HEIGHT, WIDTH, dtype=means.dtype), torch.ones(HEIGHT, WIDTH, dtype=means.dtype)
    for i in z.argsort().tolist():
        offset = centre[i] - grid
        power = -0.5 * torch.einsum("hwi,ij,hwj->hw", offset, flat[i].inverse(), offset)
        alpha = (opacity[i] * power.exp()).clamp(max=0.99)
        alpha = torch.where(alpha < 1 / 255, 0, alpha)
        image = image + colours[i][:, None, None] * alpha * light
        light = light * (1 - alpha)
    return image + background[:, None, None] * light


def projection() -> torch.Tensor:
    tall = TAN * HEIGHT / WIDTH
    rows = [
        [1 / TAN, 0, 0, 0],
        [0, 1 / tall, 0, 0],
        [0, 0, FAR / (FAR - NEAR), -FAR * NEAR / (FAR - NEAR)],
        [0, 0, 1, 0],
    ]
    return torch.tensor(rows).T.contiguous()


def scene(count: int) -> list[torch.Tensor]:
    means = torch.rand(count, 3) * torch.tensor([1.6, 1.0, 3.0]) + torch.tensor([-0.8, -0.5, 2.0])
    quaternions = torch.nn.functional.normalize(torch.randn(count, 4))
    return [means, torch.rand(count, 3) * 0.1 + 0.03, quaternions, torch.rand(count) * 0.5 + 0.1, torch.rand(count, 3)]


report = Report()
for seed, count in ((0, 1), (1, 5), (2, 20)):
    torch.manual_seed(seed)
    values, background = scene(count), torch.rand(3)
    mine = [each.cuda().requires_grad_() for each in values]
    theirs = [each.double().requires_grad_() for each in values]
    settings = GaussianRasterizationSettings(
        image_height=HEIGHT,
        image_width=WIDTH,
        tanfovx=TAN,
        tanfovy=TAN * HEIGHT / WIDTH,
        bg=background.cuda(),
        scale_modifier=1.0,
        viewmatrix=torch.eye(4).cuda(),
        projmatrix=projection().cuda(),
        sh_degree=0,
        campos=torch.zeros(3).cuda(),
        prefiltered=False,
        debug=False,
    )
    screen = torch.zeros_like(mine[0], requires_grad=True)
    image, _ = GaussianRasterizer(settings)(
        means3D=mine[0],
        means2D=screen,
        opacities=mine[3][:, None],
        colors_precomp=mine[4],
        scales=mine[1],
        rotations=mine[2],
    )[:2]
    wanted = reference(*theirs, background.double())
    report.agree(f"{count} Gaussians", image, wanted, rtol=1e-2, atol=4e-3)
    weight = torch.randn(3, HEIGHT, WIDTH)
    (image * weight.cuda()).sum().backward()
    (wanted * weight.double()).sum().backward()
    names = ("means", "scales", "rotations", "opacities", "colours")
    for name, a, b in zip(names, mine, theirs):
        scale = float(b.grad.abs().max())
        report.agree(f"{count} Gaussians, gradient of {name}", a.grad / scale, b.grad / scale, rtol=2e-2, atol=2e-2)
assert math.isfinite(scale)
report.end()
