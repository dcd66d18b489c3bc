"""flash-attn's fused_dense extension: the first half of an MLP with its activation, and gradients of both halves, by cuBLASLt."""

from __future__ import annotations

from functools import partial

import fused_dense_lib as lib
import torch
import torch.nn.functional as F

from report import Report

DEVICE = "cuda"
ROWS, INNER = 48, 64
Tensor = torch.Tensor


def compare(dtype: torch.dtype, is_gelu: bool, has_bias: bool, hidden: int) -> None:
    """Two layers with an activation between, by the formula in double precision, with gradients by autograd."""
    tolerance = 4e-3 if dtype == torch.float16 else 3e-2
    name = f"{dtype}, {'gelu' if is_gelu else 'relu'}, {'bias' if has_bias else 'no bias'}, {hidden}"
    x, first, bias, second, gradient = (
        (torch.randn(*shape) * scale).to(dtype)
        for *shape, scale in (
            (ROWS, INNER, 1),
            (hidden, INNER, INNER**-0.5),
            (hidden, 1),
            (INNER, hidden, hidden**-0.5),
            (ROWS, INNER, 1),
        )
    )
    act = partial(F.gelu, approximate="tanh") if is_gelu else F.relu
    exact = [each.double().requires_grad_() for each in (x, first, bias, second)]
    before = exact[0] @ exact[1].T + (exact[2] if has_bias else 0)
    before.retain_grad()
    after = act(before)
    (after @ exact[3].T).backward(gradient.double())

    own = [each.to(DEVICE) for each in (x, first, bias, second, gradient)]
    found, kept = lib.linear_act_forward(own[0], own[1], own[2] if has_bias else None, is_gelu, True, 0)
    report.agree(f"{name}: values", found, after, tolerance, tolerance)
    (alone,) = lib.linear_act_forward(own[0], own[1], own[2] if has_bias else None, is_gelu, False, 0)
    report.agree(f"{name}: values, with nothing kept", alone, after, tolerance, tolerance)
    if is_gelu:
        report.agree(f"{name}: before the activation", kept, before, tolerance, tolerance)
    back, of_bias = lib.bias_act_linear_dgrad_bgrad(own[3], own[4], kept, is_gelu, 0)
    assert before.grad is not None
    report.agree(f"{name}: gradient before the activation", back, before.grad, tolerance, tolerance)
    # A sum of as many numbers as there are rows, which may each be rounded.
    report.agree(f"{name}: gradient of the bias", of_bias, before.grad.sum(0), tolerance, 4 * tolerance)
    of_weight, _ = lib.linear_bias_wgrad(own[0], back, False)
    report.agree(f"{name}: gradient of the first weight", of_weight, exact[1].grad, tolerance, 4 * tolerance)
    of_weight, of_bias = lib.linear_bias_wgrad(found, own[4], True)
    report.agree(f"{name}: gradient of the second weight", of_weight, exact[3].grad, tolerance, 4 * tolerance)
    report.agree(f"{name}: its bias", of_bias, gradient.double().sum(0), tolerance, 4 * tolerance)


report = Report()
torch.manual_seed(0)
for dtype in (torch.float16, torch.bfloat16):
    for is_gelu in (True, False):
        for has_bias in (True, False):
            for hidden in (128, 256):
                compare(dtype, is_gelu, has_bias, hidden)
report.end()
