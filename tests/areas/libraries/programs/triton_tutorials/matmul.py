"""A matrix product with a fused activation, in blocks that are chosen by measuring."""

import torch
import triton
import triton.language as tl


@triton.autotune(
    configs=[
        triton.Config({"M_BLOCK": 32, "N_BLOCK": 32, "K_BLOCK": 32, "GROUP": 2}, num_stages=3, num_warps=4),
        triton.Config({"M_BLOCK": 64, "N_BLOCK": 32, "K_BLOCK": 32, "GROUP": 2}, num_stages=4, num_warps=2),
    ],
    key=["m", "n", "k"],
)
@triton.jit
def matmul_kernel(
    a, b, c, m, n, k, am, ak, bk, bn, cm, cn,
    M_BLOCK: tl.constexpr, N_BLOCK: tl.constexpr, K_BLOCK: tl.constexpr, GROUP: tl.constexpr, ACTIVATION: tl.constexpr,
):  # fmt: skip
    pid = tl.program_id(axis=0)
    columns = tl.cdiv(n, N_BLOCK)
    in_group = GROUP * columns
    first = pid // in_group * GROUP
    height = min(tl.cdiv(m, M_BLOCK) - first, GROUP)
    row, column = first + (pid % in_group) % height, (pid % in_group) // height
    tl.assume(row >= 0)
    rows = (row * M_BLOCK + tl.arange(0, M_BLOCK)) % m
    cols = (column * N_BLOCK + tl.arange(0, N_BLOCK)) % n
    ks = tl.arange(0, K_BLOCK)
    a_block = a + (rows[:, None] * am + ks[None, :] * ak)
    b_block = b + (ks[:, None] * bk + cols[None, :] * bn)
    total = tl.zeros((M_BLOCK, N_BLOCK), dtype=tl.float32)
    for step in range(0, tl.cdiv(k, K_BLOCK)):
        left = tl.load(a_block, mask=ks[None, :] < k - step * K_BLOCK, other=0.0)
        right = tl.load(b_block, mask=ks[:, None] < k - step * K_BLOCK, other=0.0)
        total = tl.dot(left, right, total)
        a_block += K_BLOCK * ak
        b_block += K_BLOCK * bk
    if ACTIVATION == "leaky_relu":
        total = leaky_relu(total)
    rows = row * M_BLOCK + tl.arange(0, M_BLOCK)
    cols = column * N_BLOCK + tl.arange(0, N_BLOCK)
    where = c + cm * rows[:, None] + cn * cols[None, :]
    tl.store(where, total.to(tl.float16), mask=(rows[:, None] < m) & (cols[None, :] < n))


@triton.jit
def leaky_relu(x):
    return tl.where(x >= 0, x, 0.01 * x)


def error():
    torch.manual_seed(0)
    a, b = torch.randn(70, 50).half(), torch.randn(50, 90).half()
    c = torch.empty(70, 90, device="cuda", dtype=torch.float16)
    ours, theirs = a.cuda(), b.cuda()
    matmul_kernel[lambda meta: (triton.cdiv(70, meta["M_BLOCK"]) * triton.cdiv(90, meta["N_BLOCK"]),)](
        ours, theirs, c, 70, 90, 50, *ours.stride(), *theirs.stride(), *c.stride(), ACTIVATION="leaky_relu"
    )
    expected = torch.nn.functional.leaky_relu(a.float() @ b.float()).half().float()
    assert matmul_kernel.best_config in matmul_kernel.configs
    return ((c.cpu().float() - expected).abs() / (1 + expected.abs())).max().item()
