"""simple-knn: the mean squared distance to the three nearest points."""

from __future__ import annotations

import torch
from simple_knn._C import distCUDA2

from report import Report

report = Report()
torch.manual_seed(0)
for count in (4, 5, 100, 1000, 3000):
    for spread in (1.0, 100.0):
        points = torch.randn(count, 3) * spread
        nearest = torch.cdist(points.double(), points.double()).square().topk(4, largest=False).values[:, 1:]
        report.agree(f"{count} points, spread {spread}", distCUDA2(points.cuda()), nearest.mean(1), rtol=1e-3)
report.end()
