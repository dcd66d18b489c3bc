"""fast_rnnt: its recursion by plain sums of exponentials, with gradients by autograd, and its losses as those of its CPU."""

from __future__ import annotations

import fast_rnnt
import torch

from report import Report

Tensor = torch.Tensor
DEVICE = "cuda"


def recursion(px: Tensor, py: Tensor, begin_end: list[int], modified: bool) -> Tensor:
    """The logarithm of all paths' sum for one sequence: a step takes a symbol, or a frame, or, if `modified`, both at once."""
    s_begin, t_begin, s_end, t_end = begin_end
    reached: dict[tuple[int, int], Tensor] = {(s_begin, t_begin): px.new_zeros(())}
    for s in range(s_begin, s_end + 1):
        for t in range(t_begin, t_end + 1):
            before = t - 1 if modified else t
            ways = []
            if (s - 1, before) in reached:
                ways.append(reached[s - 1, before] + px[s - 1, before])
            if (s, t - 1) in reached:
                ways.append(reached[s, t - 1] + py[s, t - 1])
            if ways:
                reached[s, t] = torch.stack(ways).logsumexp(0)
    return reached[s_end, t_end]


def compare_recursion(symbols: int, frames: int, dtype: torch.dtype, bounded: bool, modified: bool) -> None:
    """Values and gradients of three sequences."""
    given = torch.randn(3, symbols, frames if modified else frames + 1, dtype=torch.double)
    others = torch.randn(3, symbols + 1, frames, dtype=torch.double)
    ends = [[0, 0, symbols, frames]] * 3
    if bounded:
        ends = [[0, 0, symbols, frames], [1, 2, symbols, frames - 1], [0, 0, symbols - 1, frames]]
    exact = [each.clone().requires_grad_() for each in (given, others)]
    wanted = torch.stack([recursion(exact[0][at], exact[1][at], end, modified) for at, end in enumerate(ends)])
    weights = torch.tensor([1.0, -0.5, 2.0], dtype=torch.double)
    wanted.backward(weights)
    mine = [each.to(DEVICE, dtype).requires_grad_() for each in (given, others)]
    boundary = torch.tensor(ends, device=DEVICE) if bounded else None
    found = fast_rnnt.mutual_information_recursion(*mine, boundary)
    found.backward(weights.to(DEVICE, dtype))
    kinds = "bounded" if bounded else "whole", "both at once" if modified else "apart"
    name = f"{symbols} x {frames}, {dtype}, {kinds[0]}, {kinds[1]}"
    tolerance = 1e-4 if dtype == torch.float32 else 1e-9
    report.agree(name, found, wanted, tolerance, tolerance)
    for part, own, reference in zip(("symbols", "frames"), mine, exact, strict=True):
        assert own.grad is not None and reference.grad is not None
        report.agree(f"{name}: {part}", own.grad, reference.grad, tolerance, tolerance)


def compare_losses(modified: bool) -> None:
    """The simple, the whole and the pruned loss, with the gradients of both models, as on the CPU."""
    batch, symbols, frames, classes, width = 2, 6, 17, 9, 4
    lm, am = torch.randn(batch, symbols + 1, classes), torch.randn(batch, frames, classes)
    words = torch.randint(0, classes - 1, (batch, symbols))
    boundary = torch.tensor([[0, 0, symbols, frames], [0, 0, symbols - 2, frames - 3]])
    made = {}
    for device in ("cpu", DEVICE):
        a, b = (each.clone().to(device).requires_grad_() for each in (am, lm))
        known = {"symbols": words.to(device), "termination_symbol": classes - 1, "boundary": boundary.to(device)}
        simple, (px_grad, py_grad) = fast_rnnt.rnnt_loss_simple(
            lm=b, am=a, modified=modified, reduction="sum", return_grad=True, **known
        )
        whole = fast_rnnt.rnnt_loss(logits=a.unsqueeze(2) + b.unsqueeze(1), modified=modified, reduction="sum", **known)
        ranges = fast_rnnt.get_rnnt_prune_ranges(px_grad, py_grad, known["boundary"], width)
        pruned_am, pruned_lm = fast_rnnt.do_rnnt_pruning(am=a, lm=b, ranges=ranges)
        pruned = fast_rnnt.rnnt_loss_pruned(
            logits=pruned_am + pruned_lm, ranges=ranges, modified=modified, reduction="sum", **known
        )
        (simple + 2 * whole + 3 * pruned).backward()
        made[device] = {
            "simple": simple,
            "whole": whole,
            "pruned": pruned,
            "ranges": ranges,
            "acoustic": a.grad,
            "language": b.grad,
        }
    for part, wanted in made["cpu"].items():
        report.agree(f"loss, {'both at once' if modified else 'apart'}: {part}", made[DEVICE][part], wanted)


report = Report()
torch.manual_seed(0)
assert fast_rnnt.with_cuda()
# Blocks of the recursion are of 32 symbols and 32 frames.
for symbols, frames in ((3, 5), (31, 33), (5, 70), (40, 37)):
    for dtype in (torch.float32, torch.float64):
        for bounded in (False, True):
            compare_recursion(symbols, frames, dtype, bounded, modified=False)
for bounded in (False, True):
    compare_recursion(9, 35, torch.float32, bounded, modified=True)
for modified in (False, True):
    compare_losses(modified)
bounds = torch.randint(0, 50, (3, 130)).sort(1).values
bounds[:, ::7] += 20
lowered = bounds.to(DEVICE)
fast_rnnt.monotonic_lower_bound_(lowered)
report.agree("bounds", lowered, bounds.flip(1).cummin(1).values.flip(1))
report.end()
