"""Products of several pairs of matrices in one launch, found by addresses in memory of the device."""

import torch
import triton
import triton.language as tl


@triton.jit
def grouped_kernel(a_list, b_list, c_list, sizes, count, PROGRAMS: tl.constexpr, BLOCK: tl.constexpr):
    tile = tl.program_id(0)
    last = 0
    for group in range(count):
        m, n, k = tl.load(sizes + group * 3), tl.load(sizes + group * 3 + 1), tl.load(sizes + group * 3 + 2)
        columns = tl.cdiv(n, BLOCK)
        tiles = tl.cdiv(m, BLOCK) * columns
        while tile >= last and tile < last + tiles:
            a = tl.load(a_list + group).to(tl.pointer_type(tl.float16))
            b = tl.load(b_list + group).to(tl.pointer_type(tl.float16))
            c = tl.load(c_list + group).to(tl.pointer_type(tl.float16))
            rows = (tile - last) // columns * BLOCK + tl.arange(0, BLOCK)
            cols = (tile - last) % columns * BLOCK + tl.arange(0, BLOCK)
            total = tl.zeros((BLOCK, BLOCK), dtype=tl.float32)
            for step in range(0, tl.cdiv(k, BLOCK)):
                ks = step * BLOCK + tl.arange(0, BLOCK)
                left = tl.load(
                    a + rows[:, None] * k + ks[None, :], mask=(rows[:, None] < m) & (ks[None, :] < k), other=0.0
                )
                right = tl.load(
                    b + ks[:, None] * n + cols[None, :], mask=(ks[:, None] < k) & (cols[None, :] < n), other=0.0
                )
                total += tl.dot(left, right)
            where = c + rows[:, None] * n + cols[None, :]
            tl.store(where, total.to(tl.float16), mask=(rows[:, None] < m) & (cols[None, :] < n))
            tile += PROGRAMS
        last = last + tiles


def error():
    torch.manual_seed(0)
    shapes = [(32, 48, 16), (16, 16, 32), (40, 20, 24)]
    pairs = [(torch.randn(m, k).half(), torch.randn(k, n).half()) for m, n, k in shapes]
    on_gpu = [(a.cuda(), b.cuda()) for a, b in pairs]
    results = [torch.empty(m, n, device="cuda", dtype=torch.float16) for m, n, _ in shapes]

    def addresses(tensors):
        return torch.tensor([tensor.data_ptr() for tensor in tensors], device="cuda")

    grouped_kernel[(4,)](
        addresses([a for a, _ in on_gpu]), addresses([b for _, b in on_gpu]), addresses(results),
        torch.tensor(shapes, dtype=torch.int32, device="cuda"), len(shapes), PROGRAMS=4, BLOCK=16,
    )  # fmt: skip
    expected = [(a.float() @ b.float()).half() for a, b in pairs]
    return max((found.cpu() - right).abs().float().max().item() for found, right in zip(results, expected))
