"""flash-attn's xentropy extension: cross entropy with smoothed labels, forward and back, in three types, in place too."""

from __future__ import annotations

import torch
import xentropy_cuda_lib as lib

from report import Report

report = Report()
torch.manual_seed(0)
for dtype, rtol, atol in ((torch.float32, 1e-4, 1e-5), (torch.float16, 5e-3, 1e-3), (torch.bfloat16, 2e-2, 1e-2)):
    for classes in (1000, 1024):  # with fewer than a block has threads, it reads the next row where one is not aligned
        for smoothing in (0.0, 0.1):
            for in_place in (False, True):
                logits = (torch.randn(7, classes) * 2).to(dtype)
                labels = torch.randint(0, classes, (7,))
                exact = logits.float().requires_grad_()
                wanted = torch.nn.functional.cross_entropy(exact, labels, reduction="none", label_smoothing=smoothing)
                gradient = torch.randn(7)
                wanted.backward(gradient)
                x, targets = logits.cuda(), labels.cuda()
                loss, sums = lib.forward(x, targets, smoothing)
                name = f"{dtype}, {classes} classes, smoothed by {smoothing}, {'in place' if in_place else 'apart'}"
                report.agree(name, loss, wanted, rtol, atol)
                report.agree(f"{name}, sums", sums, exact.logsumexp(1), rtol, atol)
                back = lib.backward(gradient.cuda(), x, sums, targets, smoothing, in_place)
                assert exact.grad is not None
                report.agree(f"{name}, gradient", back.float(), exact.grad, rtol, atol)
report.end()
