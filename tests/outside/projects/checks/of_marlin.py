"""Marlin: products of halves and weights of four bits, by PTX for tensor cores, as on the CPU.

One block computes all (`sms=1`): with more, blocks wait for others that begin after them, which the simulator runs one by one. And
it has one column of tiles: before the next one, the kernel copies into shared memory that slow threads still read.
"""

from __future__ import annotations

import marlin
import torch

from report import Report

report = Report()
torch.manual_seed(0)


def quantized(k: int, n: int, group: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Weights that four bits can hold, and their scales: one for each column of a group of rows."""
    weights = torch.randn(k // group, group, n)
    scales = (weights.abs().amax(1, keepdim=True) * 2 / 15).half().float()
    whole = (weights / scales).round().clamp(-8, 7)
    return (whole * scales).reshape(k, n).half(), scales.reshape(k // group, n).half()


n = 256
for k, group in ((128, 128), (256, -1), (512, 128), (1024, -1)):
    weights, scales = quantized(k, n, k if group == -1 else group)
    linear = torch.nn.Linear(k, n, bias=False, dtype=torch.half)
    linear.weight.data = weights.t().contiguous()
    layer = marlin.Layer(k, n, group)
    layer.pack(linear, scales.t())
    layer = layer.cuda()
    for rows in (1, 16, 17, 64, 100):
        given = torch.randn(rows, k).half()
        result = torch.zeros(rows, n, dtype=torch.half, device="cuda")
        marlin.mul(given.cuda(), layer.B, result, layer.s, layer.workspace, thread_k=64, thread_n=n, sms=1)
        wanted = given.float() @ weights.float()
        report.agree(f"{rows} rows, {k} x {n}, groups of {group}", result.float(), wanted, rtol=5e-3, atol=0.05)
report.end()
