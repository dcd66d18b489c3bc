"""lietorch: four groups by matrix exponentials, with gradients, each operation as its CPU's, and the kernels of lietorch_extras."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import lietorch
import lietorch_extras as extras
import torch

from report import Report

Tensor = torch.Tensor
#: How many of each group's numbers are a translation, a rotation and a scale.
GROUPS: dict[Any, tuple[int, int, int]] = {
    lietorch.SO3: (0, 3, 0),
    lietorch.RxSO3: (0, 3, 1),
    lietorch.SE3: (3, 3, 0),
    lietorch.Sim3: (3, 3, 1),
}


def matrix(tangent: Tensor, parts: tuple[int, int, int]) -> Tensor:
    """The exponential of the matrix of 4 x 4 that the numbers stand for."""
    moved, turned, scaled = tangent.split(list(parts), -1)
    none = torch.zeros_like(turned[..., 0])
    x, y, z = turned.unbind(-1)
    rows = torch.stack([none, -z, y, z, none, -x, -y, x, none], -1).unflatten(-1, (3, 3))
    if parts[2]:
        rows = rows + scaled[..., None] * torch.eye(3, dtype=tangent.dtype)
    column = moved[..., None] if parts[0] else torch.zeros_like(rows[..., :1])
    return torch.cat([torch.cat([rows, column], -1), torch.zeros_like(rows[..., :1, [0, 0, 0, 0]])], -2).matrix_exp()


def gradients(
    name: str, found: Tensor, wanted: Tensor, given: list[Tensor], exact: list[Tensor], tolerance: float
) -> None:
    """Compares two results and the gradients of what they are made of."""
    weight = torch.randn_like(wanted)
    report.agree(name, found, wanted, tolerance, tolerance)
    mine = torch.autograd.grad(found, given, weight.to(found), retain_graph=True)
    theirs = torch.autograd.grad(wanted, exact, weight, retain_graph=True)
    for i, (each, other) in enumerate(zip(mine, theirs, strict=True)):
        report.agree(f"{name}, gradient {i}", each, other, tolerance, tolerance)


def exponentials(group: Any, dtype: torch.dtype, tolerance: float) -> None:
    """Of the sizes at which it takes its series, and of larger ones."""
    for size in (0.0, 1e-4, 0.3, 0.7):  # a turn by more than pi comes back as another one
        tangent, points = (size * torch.randn(5, group.manifold_dim)).to(dtype), torch.randn(5, 3).to(dtype)
        exact = [tangent.double().clone().requires_grad_(), points.double().clone().requires_grad_()]
        given = [tangent.cuda().requires_grad_(), points.cuda().requires_grad_()]
        whole = matrix(exact[0], GROUPS[group])
        moved = (whole[:, :3, :3] @ exact[1][..., None])[..., 0] + whole[:, :3, 3]
        element = group.exp(given[0])
        name = f"{group.__name__}, {dtype}, of {size}"
        gradients(f"{name}: matrix", element.matrix(), whole, given[:1], exact[:1], tolerance)
        gradients(f"{name}: points", element * given[1], moved, given, exact, tolerance)
        report.agree(f"{name}: back", element.log(), tangent, tolerance, tolerance)
        report.agree(f"{name}: inverse", element.inv().matrix(), whole.inverse(), tolerance, tolerance)


def operations(group: Any) -> None:
    """Its two implementations agree, forward and back."""
    first, second, third = 0.5 * torch.randn(3, 6, group.manifold_dim, dtype=torch.double)
    calls: dict[str, Callable[[Any, Any, Tensor], Tensor]] = {
        "product": lambda a, b, _: (a * b).matrix(),
        "adjoint": lambda a, _, c: a.adj(c),
        "transposed adjoint": lambda a, _, c: a.adjT(c),
        "log of a quotient": lambda a, b, _: (a * b.inv()).log(),
        "Jacobian": lambda a, _, c: a.Jinv(c).detach() + c,
        "points of four": lambda a, b, _: a * (b * torch.ones(6, 4).to(a.data)),
        "numbers": lambda a, b, _: (a * b).vec(),
    }
    for name, call in calls.items():
        exact = [each.clone().requires_grad_() for each in (first, second, third)]
        given = [each.cuda().requires_grad_() for each in (first, second, third)]
        results = [call(group.exp(a), group.exp(b), c) for a, b, c in (given, exact)]
        weight = torch.randn_like(results[1])
        report.agree(f"{group.__name__}, {name}", results[0], results[1], 1e-9, 1e-9)
        mine = torch.autograd.grad(results[0], given, weight.cuda(), allow_unused=True)
        theirs = torch.autograd.grad(results[1], exact, weight, allow_unused=True)
        for i, (each, other) in enumerate(zip(mine, theirs, strict=True)):
            if other is not None and each is not None:
                report.agree(f"{group.__name__}, {name}, gradient {i}", each, other, 1e-9, 1e-9)


def between(image: Tensor, x: Tensor, y: Tensor) -> Tensor:
    """What lies between the pixels of an image; nothing outside."""
    low, left = y.floor().long(), x.floor().long()
    total = torch.zeros_like(x).unsqueeze(-1)
    for down, right in ((0, 0), (0, 1), (1, 0), (1, 1)):
        row, column = low + down, left + right
        there = (row >= 0) & (row < image.shape[0]) & (column >= 0) & (column < image.shape[1])
        share = (1 - (y - row).abs()) * (1 - (x - column).abs()) * there
        total = (
            total + share.unsqueeze(-1) * image[row.clamp(0, image.shape[0] - 1), column.clamp(0, image.shape[1] - 1)]
        )
    return total


def around(radius: int, x: Tensor, y: Tensor) -> list[tuple[int, int, Tensor, Tensor]]:
    steps = range(2 * radius + 1)
    return [(i, j, x - radius + i, y - radius + j) for i in steps for j in steps]


def volumes() -> None:
    volume, place = torch.randn(2, 4, 8, 6, 7), torch.rand(2, 2, 4, 8) * 8 - 1
    exact = volume.double().clone().requires_grad_()
    wanted = torch.zeros(2, 5, 5, 4, 8, dtype=torch.double)
    for n in range(2):
        for row in range(4):
            for column in range(8):
                x, y = place[n, :, row, column].double()
                for i, j, at, down in around(2, x, y):
                    wanted[n, i, j, row, column] = between(exact[n, row, column][..., None], at, down)[0]
    (found,) = extras.corr_index_forward(volume.cuda(), place.cuda(), 2)
    report.agree("extras: volume", found, wanted)
    weight = torch.randn_like(wanted)
    wanted.backward(weight)
    (back,) = extras.corr_index_backward(volume.cuda(), place.cuda(), weight.float().cuda(), 2)
    assert exact.grad is not None
    report.agree("extras: volume, gradient", back, exact.grad)


def correlations() -> None:
    """Its kernel has warps that step together in mind: no barrier stands between the use of a row and its next writing."""
    first, second, place = torch.randn(1, 4, 8, 64), torch.randn(1, 6, 7, 64), torch.rand(1, 1, 4, 8, 2) * 8 - 1
    one, two = first.double().clone().requires_grad_(), second.double().clone().requires_grad_()
    x, y = place[0, 0].double().unbind(-1)
    each = [(between(two[0], at, down) * one[0]).sum(-1) for _, _, at, down in around(1, x, y)]
    wanted = torch.stack(each)[None, None]
    found = extras.altcorr_forward(first.cuda(), second.cuda(), place.cuda(), 1)[0]
    report.agree("extras: correlation", found, wanted, 1e-3, 1e-3)
    weight = torch.randn_like(wanted)
    wanted.backward(weight)
    back = extras.altcorr_backward(first.cuda(), second.cuda(), place.cuda(), weight.float().cuda(), 1)
    assert one.grad is not None and two.grad is not None
    report.agree("extras: correlation, gradient of the first", back[0], one.grad, 1e-3, 1e-3)
    report.agree("extras: correlation, gradient of the second", back[1], two.grad, 1e-3, 1e-3)


def equations() -> None:
    half = torch.randn(2, 5, 9, 6, 6)
    whole, right = half @ half.mT + 2 * torch.eye(6), torch.randn(2, 5, 9, 6, 1)
    exact = [whole.double().clone().requires_grad_(), right.double().clone().requires_grad_()]
    wanted = torch.linalg.solve(*exact)
    weight = torch.randn_like(wanted)
    wanted.backward(weight)
    places = (0, 3, 4, 1, 2)
    given = [each.permute(places).contiguous().cuda() for each in (whole, right, weight.float())]
    (found,) = extras.cholesky6x6_forward(*given[:2])
    report.agree("extras: equations", found, wanted.permute(places), 1e-3, 1e-3)
    back = extras.cholesky6x6_backward(*given)
    for i in (0, 1):
        gradient = exact[i].grad
        assert gradient is not None
        report.agree(f"extras: equations, gradient {i}", back[i], gradient.permute(places), 1e-2, 1e-2)


report = Report()
torch.manual_seed(0)
for group in GROUPS:
    exponentials(group, torch.double, 1e-6)
    exponentials(group, torch.float, 2e-3)
    operations(group)
volumes()
correlations()
equations()
report.end()
