"""pointnet2_ops: sampling, gathering, grouping, neighbours and interpolation."""

from __future__ import annotations

import torch
from pointnet2_ops import pointnet2_utils as ops
from points import ball, farthest

from report import Report

report = Report()
torch.manual_seed(0)
points, features = torch.rand(2, 200, 3) + 0.1, torch.randn(2, 8, 200)
index = torch.stack([farthest(each, 20) for each in points])
report.agree("sampling", ops.furthest_point_sample(points.cuda(), 20), index)
places = index.int().cuda()
mine, theirs = features.cuda().requires_grad_(), features.clone().requires_grad_()
found, wanted = ops.gather_operation(mine, places), theirs.gather(2, index[:, None].expand(-1, 8, -1))
report.agree("gathering", found, wanted)
weight = torch.randn_like(wanted)
(found * weight.cuda()).sum().backward()
(wanted * weight).sum().backward()
report.agree("gathering, gradient", mine.grad, theirs.grad)
centres = torch.stack([points[i, index[i]] for i in range(2)])
near = ops.ball_query(0.3, 16, points.cuda(), centres.cuda())
report.agree("ball query", near, torch.stack([ball(0.3, 16, points[i], centres[i]) for i in range(2)]))
mine, theirs = features.cuda().requires_grad_(), features.clone().requires_grad_()
found = ops.grouping_operation(mine, near)
wanted = torch.stack([theirs[i][:, near[i].cpu().long()] for i in range(2)])
report.agree("grouping", found, wanted)
weight = torch.randn_like(wanted)
(found * weight.cuda()).sum().backward()
(wanted * weight).sum().backward()
report.agree("grouping, gradient", mine.grad, theirs.grad)
distance, nearest = ops.three_nn(points.cuda(), centres.cuda())
exact, order = torch.cdist(points.double(), centres.double()).topk(3, largest=False)
report.agree("three nearest, distance", distance, exact, atol=1e-3)
report.agree("three nearest, places", nearest, order)
few, share = torch.randn(2, 8, 20), torch.softmax(torch.randn(2, 200, 3), -1)
mine, theirs = few.cuda().requires_grad_(), few.clone().requires_grad_()
found = ops.three_interpolate(mine, nearest, share.cuda())
wanted = torch.stack([(theirs[i][:, order[i]] * share[i]).sum(-1) for i in range(2)])
report.agree("interpolation", found, wanted)
weight = torch.randn_like(wanted)
(found * weight.cuda()).sum().backward()
(wanted * weight).sum().backward()
report.agree("interpolation, gradient", mine.grad, theirs.grad)
report.end()
