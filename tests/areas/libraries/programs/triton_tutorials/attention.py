"""Attention in one kernel, with the softmax computed as blocks arrive."""

import torch
import triton
import triton.language as tl


@triton.jit
def attention_kernel(
    q, k, v, out, scale, n, HEAD: tl.constexpr, M: tl.constexpr, N: tl.constexpr, CAUSAL: tl.constexpr
):
    start = tl.program_id(0)
    base = tl.program_id(1).to(tl.int64) * n * HEAD
    rows, dims = start * M + tl.arange(0, M), tl.arange(0, HEAD)
    queries = tl.load(q + base + rows[:, None] * HEAD + dims[None, :], mask=rows[:, None] < n, other=0.0)
    top = tl.full([M], float("-inf"), dtype=tl.float32)
    weight = tl.zeros([M], dtype=tl.float32)
    total = tl.zeros([M, HEAD], dtype=tl.float32)
    scale *= 1.44269504  # 1/log(2)
    end = tl.minimum((start + 1) * M, n) if CAUSAL else n
    for first in range(0, end, N):
        first = tl.multiple_of(first, N)
        columns = first + tl.arange(0, N)
        keys = tl.load(k + base + columns[None, :] * HEAD + dims[:, None], mask=columns[None, :] < n, other=0.0)
        scores = tl.dot(queries, keys) * scale
        seen = columns[None, :] < n
        if CAUSAL:
            seen = seen & (rows[:, None] >= columns[None, :])
        scores = tl.where(seen, scores, -1.0e6)
        new_top = tl.maximum(top, tl.max(scores, 1))
        part = tl.math.exp2(scores - new_top[:, None])
        factor = tl.math.exp2(top - new_top)
        weight = weight * factor + tl.sum(part, 1)
        values = tl.load(v + base + columns[:, None] * HEAD + dims[None, :], mask=columns[:, None] < n, other=0.0)
        total = tl.dot(part.to(values.dtype), values, total * factor[:, None])
        top = new_top
    where = out + base + rows[:, None] * HEAD + dims[None, :]
    tl.store(where, (total / weight[:, None]).to(out.dtype.element_ty), mask=rows[:, None] < n)


def one(dtype, causal):
    q, k, v = (torch.randn(2, 2, 70, 32).to(dtype) for _ in range(3))
    out = torch.empty(2, 2, 70, 32, device="cuda", dtype=dtype)
    attention_kernel[(triton.cdiv(70, 32), 4)](
        q.cuda(), k.cuda(), v.cuda(), out, 0.3, 70, HEAD=32, M=32, N=16, CAUSAL=causal, num_warps=4, num_stages=2
    )
    expected = torch.nn.functional.scaled_dot_product_attention(
        q.float(), k.float(), v.float(), is_causal=causal, scale=0.3
    )
    found = (out.cpu().float() - expected).abs().max().item()
    return found if dtype is torch.float32 else max(found - 0.02, 0)


def error():
    torch.manual_seed(0)
    return max(
        one(dtype, causal) for dtype in (torch.float32, torch.float16, torch.bfloat16) for causal in (False, True)
    )
