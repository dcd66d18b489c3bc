"""flash-attn's fused_softmax extension, from Megatron: scaled softmax with a mask or of a triangle, forward and back."""

from __future__ import annotations

import fused_softmax_lib as lib
import torch

from report import Report

report = Report()
torch.manual_seed(0)
for dtype, tolerance in ((torch.float16, 2e-3), (torch.bfloat16, 1e-2)):
    for length in (32, 96, 256):
        scores = torch.randn(2, 4, length, length).to(dtype)
        mask = torch.rand(2, 1, length, length) < 0.3
        exact = scores.float().requires_grad_()
        wanted = (exact * 0.5).masked_fill(mask, -10000.0).softmax(-1)
        gradient = torch.randn(2, 4, length, length).to(dtype)
        result = lib.scaled_masked_softmax_forward(scores.cuda(), mask.cuda(), 0.5)
        report.agree(f"{dtype}, {length}, mask", result.float(), wanted, tolerance, tolerance)
        wanted.backward(gradient.float())
        back = lib.scaled_masked_softmax_backward(gradient.cuda(), result.clone(), 0.5)
        assert exact.grad is not None
        report.agree(f"{dtype}, {length}, mask, gradient", back.float(), exact.grad, 10 * tolerance, 2 * tolerance)

        scores, gradient = scores.flatten(0, 1), gradient.flatten(0, 1)
        exact = scores.float().requires_grad_()
        later = torch.ones(length, length, dtype=torch.bool).triu(1)
        wanted = (exact * 0.5).masked_fill(later, float("-inf")).softmax(-1)
        result = lib.scaled_upper_triang_masked_softmax_forward(scores.cuda(), 0.5)
        report.agree(f"{dtype}, {length}, triangle", result.float(), wanted, tolerance, tolerance)
        wanted.backward(gradient.float())
        back = lib.scaled_upper_triang_masked_softmax_backward(gradient.cuda(), result.clone(), 0.5)
        assert exact.grad is not None
        report.agree(
            f"{dtype}, {length}, triangle, gradient", back.float().tril(), exact.grad, 10 * tolerance, 2 * tolerance
        )
report.end()
