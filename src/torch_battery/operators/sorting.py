"""Orders and searches; the numbers are all different, so that there is one answer."""

from __future__ import annotations

import torch

from torch_battery.operator import ALL, NUMBERS, SINGLE, Operator

GROUP = "sorting"

TABLE = [
    Operator("sort", lambda a: tuple(a.sort(-1)), lambda m: (m.distinct(3, 40),), NUMBERS, "quick"),
    Operator("sort_descending", lambda a: tuple(a.sort(0, descending=True)), lambda m: (m.distinct(3, 40),), NUMBERS),
    Operator("sort_stable", lambda a: tuple(a.sort(stable=True, dim=-1)), lambda m: (m(3, 40),), ALL, grad=False),
    Operator("argsort", lambda a: a.argsort(-1), lambda m: (m.distinct(3, 40),), NUMBERS, grad=False),
    Operator("topk", lambda a: tuple(a.topk(7)), lambda m: (m.distinct(3, 40),), NUMBERS, "quick"),
    Operator("topk_smallest", lambda a: tuple(a.topk(5, 0, largest=False)), lambda m: (m.distinct(12, 10),), NUMBERS),
    Operator("kthvalue", lambda a: tuple(a.kthvalue(4)), lambda m: (m.distinct(3, 40),), NUMBERS),
    Operator(
        "unique",
        lambda a: torch.unique(a, return_inverse=True, return_counts=True),
        lambda m: (m.integers(9, 60),),
        ("int64",),
    ),
    Operator("unique_real", lambda a: torch.unique(a), lambda m: (m.distinct(60),), ("float32",), grad=False),
    Operator("unique_consecutive", torch.unique_consecutive, lambda m: (m.integers(3, 60),), ("int64",)),
    Operator(
        "searchsorted",
        lambda a, b: torch.searchsorted(a.sort().values.contiguous(), b.contiguous()),
        lambda m: (m.distinct(60), m(20)),
        ("float32", "int64"),
        grad=False,
    ),
    Operator(
        "bucketize",
        lambda a, b: torch.bucketize(b.contiguous(), a.sort().values.contiguous()),
        lambda m: (m.distinct(60), m(20)),
        ("float32", "int64"),
        grad=False,
    ),
    Operator("isin", torch.isin, lambda m: (m.integers(30, 40), m.integers(30, 9)), ("int64",)),
    Operator("msort", torch.msort, lambda m: (m.distinct(9, 13),), ("float32", "int64")),
    Operator(
        "sort_nan",
        lambda a: a.sort().values,
        lambda m: (torch.cat([m.distinct(40), m(2) * float("nan")]),),
        SINGLE,
        grad=False,
    ),
    Operator("sort_large", lambda a: tuple(a.sort()), lambda m: (m.distinct(1 << 18),), SINGLE, "full", grad=False),
    Operator(
        "topk_large", lambda a: tuple(a.topk(100)), lambda m: (m.distinct(4, 1 << 16),), SINGLE, "full", grad=False
    ),
]
