"""OpenPCDet's pointnet2 for batches of equal size: sampling, gathering, grouping, neighbours and interpolation, with gradients."""

from __future__ import annotations

from typing import Any

import torch
from pcdet.ops.pointnet2.pointnet2_batch import pointnet2_utils as batched
from points import ball, farthest

from report import Report


def gradients(name: str, operation: Any, formula: Any, values: torch.Tensor) -> torch.Tensor:
    """Compares an operation and the gradient of its argument; what it answers on the device."""
    mine, theirs = values.cuda().requires_grad_(), values.double().clone().requires_grad_()
    found, wanted = operation(mine), formula(theirs)
    report.agree(name, found, wanted)
    weight = torch.randn(wanted.shape)
    (found * weight.cuda()).sum().backward()
    (wanted * weight).sum().backward()
    assert mine.grad is not None and theirs.grad is not None
    report.agree(f"{name}, gradient", mine.grad, theirs.grad)
    return found


def of_batches() -> None:
    points, features = torch.rand(2, 200, 3) + 0.1, torch.randn(2, 8, 200)
    index = torch.stack([farthest(each, 20) for each in points])
    report.agree("sampling of two", batched.furthest_point_sample(points.cuda(), 2), index[:, :2])
    report.agree("sampling of twenty", batched.furthest_point_sample(points.cuda(), 20), index)
    places = index.int().cuda()
    centres = torch.stack([points[i, index[i]] for i in range(2)])
    gradients(
        "gathering",
        lambda x: batched.gather_operation(x, places),
        lambda x: x.gather(2, index[:, None].expand(-1, 8, -1)),
        features,
    )
    near = batched.ball_query(0.3, 16, points.cuda(), centres.cuda())
    report.agree("ball query", near, torch.stack([ball(0.3, 16, points[i], centres[i]) for i in range(2)]))
    gradients(
        "grouping",
        lambda x: batched.grouping_operation(x, near),
        lambda x: torch.stack([x[i][:, near[i].cpu().long()] for i in range(2)]),
        features,
    )
    distance, nearest = batched.three_nn(points.cuda(), centres.cuda())
    exact, order = torch.cdist(points.double(), centres.double()).topk(3, largest=False)
    report.agree("three nearest, distance", distance, exact, atol=1e-3)
    report.agree("three nearest, places", nearest, order)
    share = torch.softmax(torch.randn(2, 200, 3), -1)
    gradients(
        "interpolation",
        lambda x: batched.three_interpolate(x, nearest, share.cuda()),
        lambda x: torch.stack([(x[i][:, order[i]] * share[i]).sum(-1) for i in range(2)]),
        torch.randn(2, 8, 20),
    )


report = Report()
torch.manual_seed(0)
of_batches()
report.end()
