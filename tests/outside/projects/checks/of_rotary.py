"""flash-attn's rotary extension: pairs of numbers turned by an angle, forward and back, in three types, in place too."""

from __future__ import annotations

import rotary_emb
import torch

from report import Report

report = Report()
torch.manual_seed(0)
for dtype, rtol, atol in ((torch.float32, 1e-5, 1e-6), (torch.float16, 2e-3, 2e-3), (torch.bfloat16, 1e-2, 1e-2)):
    for conjugate in (False, True):
        for in_place in (False, True):
            first, second = torch.randn(2, 2, 33, 3, 16).to(dtype)
            cosines, sines = torch.randn(2, 33, 16).to(dtype)
            c, s = (each.float().unsqueeze(1) for each in (cosines, sines))
            x, y = first.float(), second.float()
            wanted = (x * c + y * s, y * c - x * s) if conjugate else (x * c - y * s, x * s + y * c)
            a, b = first.cuda(), second.cuda()
            out = (a, b) if in_place else (torch.empty_like(a), torch.empty_like(b))
            rotary_emb.apply_rotary(a, b, cosines.cuda().unsqueeze(1), sines.cuda().unsqueeze(1), *out, conjugate)
            for at in (0, 1):
                name = (
                    f"{dtype}, {'back' if conjugate else 'forward'}, {'in place' if in_place else 'apart'}, half {at}"
                )
                report.agree(name, out[at].float(), wanted[at], rtol, atol)
report.end()
