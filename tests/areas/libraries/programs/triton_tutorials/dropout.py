"""Dropout whose mask is computed from a seed and never stored."""

import torch
import triton
import triton.language as tl


@triton.jit
def dropout_kernel(x, out, n, p, seed, BLOCK: tl.constexpr):
    offsets = tl.program_id(axis=0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    keep = tl.rand(seed, offsets) > p
    tl.store(out + offsets, tl.where(keep, tl.load(x + offsets, mask=mask) / (1 - p), 0.0), mask=mask)


def dropped(x, seed):
    out = torch.empty_like(x)
    dropout_kernel[(triton.cdiv(x.numel(), 512),)](x, out, x.numel(), 0.25, seed, BLOCK=512)
    return out.cpu()


def error():
    torch.manual_seed(0)
    x = torch.randn(4000)
    first, again, other = (dropped(x.cuda(), seed) for seed in (7, 7, 8))
    assert torch.equal(first, again) and not torch.equal(first, other)
    assert 0.22 < (first == 0).float().mean() < 0.28
    return torch.where(first == 0, 0, first - x / 0.75).abs().max().item()
