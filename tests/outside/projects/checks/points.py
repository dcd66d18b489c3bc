"""Plain loops over points in space, which the kernels of several projects are compared with."""

from __future__ import annotations

import torch


def farthest(points: torch.Tensor, count: int) -> torch.Tensor:
    """Places of `count` of the points, the first one and then always that which is farthest from those before."""
    chosen, distance = [0], torch.full((points.shape[0],), 1e10)
    while len(chosen) < count:
        distance = torch.minimum(distance, (points - points[chosen[-1]]).square().sum(-1))
        chosen.append(int(distance.argmax()))
    return torch.tensor(chosen)


def ball(radius: float, count: int, points: torch.Tensor, centres: torch.Tensor) -> torch.Tensor:
    """Places of the first points around each centre, the first one again where there are too few."""
    rows = []
    for near in torch.cdist(centres.double(), points.double()) < radius:
        found = near.nonzero()[:, 0][:count]
        rows.append(torch.cat([found, (found[:1] if len(found) else torch.zeros(1)).repeat(count - len(found))]).int())
    return torch.stack(rows)
