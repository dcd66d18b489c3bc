"""Many elements to one."""

from __future__ import annotations

import torch

from torch_battery.operator import ALL, FLOATS, NUMBERS, SINGLE, Operator

GROUP = "reductions"

TABLE = [
    Operator("sum", torch.sum, lambda m: (m(9, 37),), ALL, "quick", slack=10),
    Operator("sum_dim", lambda a: a.sum(0), lambda m: (m(9, 37),), ALL, slack=4),
    Operator("sum_dims", lambda a: a.sum((0, 2), keepdim=True), lambda m: (m(5, 6, 7),), NUMBERS, slack=4),
    Operator("mean", torch.mean, lambda m: (m(9, 37),), level="quick", slack=2),
    Operator("mean_dim", lambda a: a.mean(-1), lambda m: (m(9, 37),), slack=2),
    Operator("prod", lambda a: a.prod(-1), lambda m: (m.positive(9, 6),), NUMBERS, slack=4),
    Operator("var", lambda a: a.var(-1), lambda m: (m(9, 37),), slack=4),
    Operator("std", lambda a: a.std(-1, unbiased=False), lambda m: (m(9, 37),), slack=4),
    Operator("var_mean", lambda a: torch.var_mean(a, 0), lambda m: (m(9, 37),), slack=4),
    Operator("norm", lambda a: torch.linalg.vector_norm(a, dim=-1), lambda m: (m(9, 37),), slack=4),
    Operator("norm_1", lambda a: torch.linalg.vector_norm(a, 1, dim=-1), lambda m: (m.apart(9, 37),), slack=4),
    Operator("norm_inf", lambda a: torch.linalg.vector_norm(a, float("inf"), dim=-1), lambda m: (m.distinct(4, 37),)),
    Operator("amax", lambda a: a.amax(-1), lambda m: (m.distinct(3, 40),), NUMBERS),
    Operator("amin", lambda a: a.amin(0), lambda m: (m.distinct(3, 40),), NUMBERS),
    Operator("aminmax", lambda a: tuple(a.aminmax()), lambda m: (m.distinct(3, 40),), NUMBERS),
    Operator("max", torch.max, lambda m: (m.distinct(3, 40),), NUMBERS, "quick"),
    Operator("max_dim", lambda a: tuple(a.max(1)), lambda m: (m.distinct(3, 40),), NUMBERS),
    Operator("min_dim", lambda a: tuple(a.min(0)), lambda m: (m.distinct(3, 40),), NUMBERS),
    Operator("argmax", lambda a: a.argmax(-1), lambda m: (m.distinct(3, 40),), NUMBERS, "quick", grad=False),
    Operator("argmin", torch.argmin, lambda m: (m.distinct(3, 40),), NUMBERS, grad=False),
    Operator("all", lambda a: a.all(-1), lambda m: (m.mask(40, 3),), ("bool",)),
    Operator("any", lambda a: a.any(-1), lambda m: (m.mask(40, 3),), ("bool",)),
    Operator("count_nonzero", lambda a: torch.count_nonzero(a, 0), lambda m: (m(9, 37),), ALL, grad=False),
    Operator("logsumexp", lambda a: a.logsumexp(-1), lambda m: (m(9, 37),), slack=4),
    Operator("softmax", lambda a: a.softmax(-1), lambda m: (m(9, 37),), level="quick", slack=2),
    Operator("softmax_dim", lambda a: a.softmax(0), lambda m: (m(9, 37),), slack=2),
    Operator("log_softmax", lambda a: a.log_softmax(-1), lambda m: (m(9, 37),), slack=2),
    Operator(
        "softmax_masked",
        lambda a, b: a.masked_fill(b, float("-inf")).softmax(-1),
        lambda m: (m(9, 37), m.mask(9, 37)),
        slack=2,
    ),
    Operator("softmax_wide", lambda a: a.softmax(-1), lambda m: (m(2, 5000),), slack=2),
    Operator("cumsum", lambda a: a.cumsum(-1), lambda m: (m(9, 37),), NUMBERS, slack=10),
    Operator("cumprod", lambda a: a.cumprod(-1), lambda m: (m.positive(9, 8),), FLOATS, slack=10),
    Operator("cummax", lambda a: tuple(a.cummax(-1)), lambda m: (m.distinct(3, 40),), NUMBERS),
    Operator("logcumsumexp", lambda a: a.logcumsumexp(-1), lambda m: (m(9, 37),), FLOATS, slack=10),
    Operator("median", lambda a: tuple(a.median(-1)), lambda m: (m.distinct(3, 41),), SINGLE),
    Operator("quantile", lambda a: a.quantile(0.3, -1), lambda m: (m.distinct(3, 41),), SINGLE),
    Operator("diff", lambda a: a.diff(), lambda m: (m(9, 37),), NUMBERS),
    Operator("dist", torch.dist, lambda m: (m(40), m(40)), slack=4),
    Operator(
        "bincount",
        lambda a: torch.bincount(a, minlength=12),
        lambda m: (m.integers(10, 500),),
        ("int64",),
        strided=False,
    ),
    Operator(
        "histc", lambda a: torch.histc(a, 10, 0, 20), lambda m: (m.distinct(160),), SINGLE, grad=False, relatives=False
    ),
    Operator("trace", torch.trace, lambda m: (m(20, 20),), ("float32", "int64"), slack=4),
    Operator("empty", lambda a: (a.sum(), a.sum(0), a.prod(1)), lambda m: (m(0, 5),), NUMBERS),
    Operator(
        "nan",
        lambda a: (a.sum(), a.max(), a.mean(-1)),
        lambda m: (torch.cat([m(5, 7), m(1, 7) * float("nan")]),),
        FLOATS,
        slack=2,
        grad=False,
    ),
    Operator("sum_large", lambda a: a.double().sum(), lambda m: (m(1 << 22),), SINGLE, "full", slack=1e4, grad=False),
    Operator("max_large", lambda a: tuple(a.max(0)), lambda m: (m.distinct(1 << 20),), SINGLE, "full", grad=False),
]
