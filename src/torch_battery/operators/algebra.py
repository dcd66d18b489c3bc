"""Products and decompositions of matrices."""

from __future__ import annotations

import torch
from torch.nn import functional as F

from torch_battery.operator import FLOATS, SINGLE, Operator

GROUP = "algebra"

TABLE = [
    Operator("matmul", torch.matmul, lambda m: (m(33, 65), m(65, 47)), level="quick", slack=8),
    Operator("matmul_batched", torch.matmul, lambda m: (m(3, 5, 16), m(16, 7)), slack=8),
    Operator("matmul_vector", torch.matmul, lambda m: (m(20, 33), m(33)), slack=8),
    Operator("mm", torch.mm, lambda m: (m(16, 32), m(32, 24)), slack=8),
    Operator("mm_transposed", lambda a, b: a.t() @ b.t(), lambda m: (m(32, 16), m(24, 32)), slack=8),
    Operator("bmm", torch.bmm, lambda m: (m(4, 9, 16), m(4, 16, 11)), slack=8),
    Operator(
        "addmm",
        lambda a, b, c: torch.addmm(a, b, c, beta=0.5, alpha=2),
        lambda m: (m(24), m(16, 32), m(32, 24)),
        slack=16,
    ),
    Operator("baddbmm", torch.baddbmm, lambda m: (m(4, 9, 11), m(4, 9, 16), m(4, 16, 11)), slack=8),
    Operator("mv", torch.mv, lambda m: (m(20, 33), m(33)), slack=8),
    Operator("dot", torch.dot, lambda m: (m(65), m(65)), slack=16),
    Operator("outer", torch.outer, lambda m: (m(9), m(11))),
    Operator("linear", F.linear, lambda m: (m(6, 32), m(16, 32), m(16)), level="quick", slack=8),
    Operator("linear_3d", F.linear, lambda m: (m(3, 6, 32), m(16, 32)), slack=8),
    Operator("bilinear", F.bilinear, lambda m: (m(6, 5), m(6, 7), m(4, 5, 7), m(4)), slack=8),
    Operator("einsum", lambda a, b: torch.einsum("bij,bkj->bik", a, b), lambda m: (m(4, 9, 16), m(4, 11, 16)), slack=8),
    Operator("tensordot", lambda a, b: torch.tensordot(a, b, 2), lambda m: (m(3, 4, 5), m(4, 5, 6)), slack=8),
    Operator("kron", torch.kron, lambda m: (m(3, 4), m(2, 5))),
    Operator("cross", lambda a, b: torch.linalg.cross(a, b), lambda m: (m(7, 3), m(7, 3)), slack=4),
    Operator("tril", torch.tril, lambda m: (m(9, 9),), (*FLOATS, "int64", "bool")),
    Operator("triu", lambda a: a.triu(1), lambda m: (m(9, 9),), (*FLOATS, "int64", "bool")),
    Operator("matrix_power", lambda a: torch.linalg.matrix_power(a, 3), lambda m: (m.definite(8),), SINGLE, slack=40),
    Operator("cdist", torch.cdist, lambda m: (m(9, 6), m(11, 6)), SINGLE, slack=10),
    Operator("cholesky", torch.linalg.cholesky, lambda m: (m.definite(8),), SINGLE, slack=10, strided=False),
    Operator("inverse", torch.linalg.inv, lambda m: (m.definite(8),), SINGLE, slack=20),
    Operator("solve", torch.linalg.solve, lambda m: (m.definite(8), m(8, 3)), SINGLE, slack=20),
    Operator(
        "solve_triangular",
        lambda a, b: torch.linalg.solve_triangular(a.tril(), b, upper=False),
        lambda m: (m.definite(8), m(8, 3)),
        SINGLE,
        slack=20,
    ),
    Operator("det", torch.linalg.det, lambda m: (m.definite(6),), SINGLE, slack=40),
    Operator("slogdet", lambda a: torch.linalg.slogdet(a)[1], lambda m: (m.definite(8),), SINGLE, slack=20),
    Operator(
        "qr",
        lambda a: (lambda q, r: (q @ r, r.abs()))(*torch.linalg.qr(a)),
        lambda m: (m(9, 6),),
        SINGLE,
        slack=40,
        grad=False,
    ),
    Operator("svd", lambda a: torch.linalg.svdvals(a), lambda m: (m(9, 6),), SINGLE, slack=40),
    Operator("eigh", lambda a: torch.linalg.eigh(a)[0], lambda m: (m.definite(8),), SINGLE, slack=40, strided=False),
    Operator(
        "lstsq",
        lambda a, b: torch.linalg.lstsq(a, b).solution,
        lambda m: (m(9, 4), m(9, 2)),
        SINGLE,
        slack=100,
        grad=False,
    ),
    Operator("complex_matmul", torch.matmul, lambda m: (m(9, 16), m(16, 7)), ("complex64",), slack=16),
    Operator("fft", lambda a: torch.view_as_real(torch.fft.fft(a)), lambda m: (m(5, 32),), SINGLE, slack=20),
    Operator("rfft_irfft", lambda a: torch.fft.irfft(torch.fft.rfft(a)), lambda m: (m(5, 32),), SINGLE, slack=20),
    Operator(
        "matmul_large", torch.matmul, lambda m: (m(512, 1024), m(1024, 256)), level="full", slack=60, strided=False
    ),
    Operator("bmm_large", torch.bmm, lambda m: (m(64, 128, 64), m(64, 64, 128)), level="full", slack=30, grad=False),
]
