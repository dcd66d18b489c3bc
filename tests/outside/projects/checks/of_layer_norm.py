"""flash-attn's layer_norm: dropout with p = 0, a residual, scales of rows and columns, both norms, forward and back."""

from __future__ import annotations

import dropout_layer_norm
import torch

from report import Report

Tensor = torch.Tensor


def formula(
    x: Tensor,
    residual: Tensor | None,
    weight: Tensor,
    bias: Tensor | None,
    rows: Tensor | None,
    columns: Tensor | None,
    rms: bool,
) -> Tensor:
    """The norm of a sum."""
    x = x if rows is None else x * rows[:, None]
    x = x if columns is None else x * columns
    x = x if residual is None else x + residual
    if rms:
        return x * (x.square().mean(-1, keepdim=True) + 1e-5).rsqrt() * weight
    return torch.nn.functional.layer_norm(x, x.shape[-1:], weight, bias, 1e-5)


def compare(columns: int, dtype: torch.dtype, added: bool, scaled: bool, rms: bool) -> None:
    """One call forward, and one back, with the gradient of the sum added to that of the norm."""
    x, weight, bias = torch.randn(7, columns).to(dtype), torch.rand(columns) + 0.5, torch.randn(columns)
    residual = torch.randn(7, columns).to(dtype) if added else None
    row, column = ((torch.rand(7) + 0.5).to(dtype), torch.rand(columns) + 0.5) if scaled else (None, None)
    given = [x, residual, weight, None if rms else bias, row, column]
    exact = [None if each is None else each.double().clone().requires_grad_() for each in given]
    wanted = formula(*exact, rms)
    gradient = torch.randn(7, columns).to(dtype)
    wanted.backward(gradient.double())
    mine = [None if each is None else each.cuda() for each in given]
    z, total, _, mean, spread = dropout_layer_norm.dropout_add_ln_fwd(
        *mine, None, None, 0.0, 1e-5, 1.0, 0, None, False, rms
    )
    kinds = "with" if added else "no", "scaled" if scaled else "plain", "rms" if rms else "norm"
    name = f"{columns}, {dtype}, {kinds[0]} residual, {kinds[1]}, {kinds[2]}"
    tolerance = {torch.float32: 1e-4, torch.float16: 4e-3}[dtype]
    report.agree(name, z, wanted, tolerance, tolerance)
    total = mine[0] if total is None else total
    found = dropout_layer_norm.dropout_add_ln_bwd(
        gradient.cuda(),
        None,
        total,
        mine[0] if scaled else None,
        None,
        mean,
        spread,
        mine[2],
        mine[4],
        mine[5],
        None,
        None,
        0.0,
        1.0,
        0,
        added,
        rms,
    )
    places = {"input": (0, 0), "residual": (1, 1), "weight": (2, 2), "bias": (3, 3), "columns": (6, 5)}
    for part, (place, argument) in places.items():
        reference = exact[argument]
        if reference is not None and reference.grad is not None:
            report.agree(f"{name}: {part}", found[place], reference.grad, 10 * tolerance, tolerance)


report = Report()
torch.manual_seed(0)
for columns in (256, 200):
    for dtype in (torch.float32, torch.float16):
        for added in (False, True):
            for scaled in (False, True):
                for rms in (False, True):
                    compare(columns, dtype, added, scaled, rms)
report.end()
