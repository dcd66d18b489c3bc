"""fused-ssim: structural similarity and its gradient, against windows by conv2d."""

from __future__ import annotations

import torch
from fused_ssim import fused_ssim
from torch.nn.functional import conv2d

from report import Report


def reference(x: torch.Tensor, y: torch.Tensor, padding: str) -> torch.Tensor:
    place = torch.arange(11.0, dtype=x.dtype) - 5
    line = torch.exp(-(place**2) / (2 * 1.5**2))
    window = torch.outer(line / line.sum(), line / line.sum())[None, None].repeat(x.shape[1], 1, 1, 1)

    def mean(z: torch.Tensor) -> torch.Tensor:
        return conv2d(z, window, padding=5 if padding == "same" else 0, groups=x.shape[1])

    a, b = mean(x), mean(y)
    over = (2 * a * b + 0.01**2) * (2 * (mean(x * y) - a * b) + 0.03**2)
    under = (a * a + b * b + 0.01**2) * (mean(x * x) - a * a + mean(y * y) - b * b + 0.03**2)
    return (over / under).mean()


report = Report()
torch.manual_seed(0)
for shape in ((1, 1, 32, 32), (2, 3, 33, 47), (1, 3, 16, 70)):
    for padding in ("same", "valid"):
        x, y = torch.rand(shape), torch.rand(shape)
        mine = x.cuda().requires_grad_()
        found = fused_ssim(mine, y.cuda(), padding=padding)
        found.backward()
        theirs = x.double().requires_grad_()
        wanted = reference(theirs, y.double(), padding)
        wanted.backward()
        report.agree(f"{shape} {padding}", found, wanted, rtol=1e-3)
        report.agree(f"{shape} {padding}, gradient", mine.grad, theirs.grad, rtol=1e-2, atol=1e-6)
        report.agree(
            f"{shape} {padding}, not for training",
            fused_ssim(x.cuda(), y.cuda(), padding=padding, train=False),
            wanted,
            rtol=1e-3,
        )
report.end()
