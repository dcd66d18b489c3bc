"""Elements chosen by index, and shapes."""

from __future__ import annotations

from typing import Any

import torch
from torch.nn import functional as F

from torch_battery.operator import ALL, FLOATS, NUMBERS, Operator

GROUP = "indexing"


def _assigned(a: Any, rows: Any, b: Any) -> Any:
    a = a.clone()
    a[rows, 1:3] = b
    a[0] = 1
    a[..., -1] += 2
    return a


def _viewed(a: Any) -> Any:
    a = a.clone(memory_format=torch.contiguous_format)
    a[1:3, ::2].fill_(1)
    a.view(-1)[0] = 0
    a.t()[3].zero_()
    return a


TABLE = [
    Operator("slice", lambda a: (a[1:4, ::2], a[:, -1], a[..., None, 2]), lambda m: (m(7, 9),), ALL, "quick"),
    Operator("index", lambda a, i: a[i], lambda m: (m(9, 5), m.integers(9, 20)), ALL, "quick"),
    Operator(
        "index_pairs", lambda a, i, j: a[i, j], lambda m: (m(9, 5), m.integers(9, 20), m.integers(5, 20)), NUMBERS
    ),
    Operator("index_mask", lambda a, b: a[b], lambda m: (m(9, 5), m.mask(9, 5)), ALL),
    Operator("index_put", _assigned, lambda m: (m(9, 5), m.order(9)[:4], m(4, 2)), NUMBERS),
    Operator(
        "index_put_accumulate",
        lambda a, i, b: a.index_put((i,), b, accumulate=True),
        lambda m: (m(9), m.integers(9, 40), m(40)),
        NUMBERS,
        slack=8,
    ),
    Operator("index_select", lambda a, i: a.index_select(0, i), lambda m: (m(9, 5), m.integers(9, 20)), ALL),
    Operator(
        "index_add",
        lambda a, i, b: a.index_add(0, i, b),
        lambda m: (m(9, 5), m.integers(9, 20), m(20, 5)),
        NUMBERS,
        slack=8,
    ),
    Operator("index_copy", lambda a, i, b: a.index_copy(0, i, b), lambda m: (m(9, 5), m.order(9)[:4], m(4, 5)), ALL),
    Operator("index_fill", lambda a, i: a.index_fill(0, i, 1), lambda m: (m(9, 5), m.integers(9, 4)), ALL),
    Operator("gather", lambda a, i: a.gather(1, i), lambda m: (m(9, 5), m.integers(5, 9, 3)), ALL, "quick"),
    Operator("take_along_dim", lambda a, i: a.take_along_dim(i, 0), lambda m: (m(9, 5), m.integers(9, 3, 5)), NUMBERS),
    Operator("take", torch.take, lambda m: (m(9, 5), m.integers(45, 12)), NUMBERS),
    Operator(
        "scatter",
        lambda a, i, b: a.scatter(0, i, b),
        lambda m: (m(9, 5), torch.stack([m.order(9)[:4] for _ in range(5)], 1), m(4, 5)),
        ALL,
    ),
    Operator(
        "scatter_add",
        lambda a, i, b: a.scatter_add(0, i, b),
        lambda m: (m(9, 5), m.integers(9, 20, 5), m(20, 5)),
        NUMBERS,
        slack=8,
    ),
    Operator(
        "scatter_reduce",
        lambda a, i, b: a.scatter_reduce(0, i, b, "amax"),
        lambda m: (m(9), m.integers(9, 40), m.distinct(40)),
        ("float32", "int64"),
        grad=False,
    ),
    Operator("masked_select", torch.masked_select, lambda m: (m(9, 5), m.mask(9, 5)), ALL),
    Operator(
        "masked_scatter", lambda a, b, c: a.masked_scatter(b, c), lambda m: (m(9, 5), m.mask(9, 5), m(45)), NUMBERS
    ),
    Operator("nonzero", torch.nonzero, lambda m: (m.mask(9, 5),), ("bool",)),
    Operator("one_hot", lambda a: F.one_hot(a, 7), lambda m: (m.integers(7, 20),), ("int64",), relatives=False),
    Operator("cat", lambda a, b: torch.cat([a, b, a]), lambda m: (m(3, 5), m(4, 5)), ALL, "quick"),
    Operator("stack", lambda a, b: torch.stack([a, b], 1), lambda m: (m(3, 5), m(3, 5)), ALL),
    Operator("split", lambda a: torch.split(a, [2, 3, 4]), lambda m: (m(9, 5),), ALL),
    Operator("chunk", lambda a: a.chunk(4, 1), lambda m: (m(3, 10),), ALL),
    Operator("transpose", lambda a: a.transpose(0, 2).contiguous(), lambda m: (m(3, 4, 5),), ALL),
    Operator("permute", lambda a: a.permute(2, 0, 1).contiguous(), lambda m: (m(3, 4, 5),), ALL),
    Operator("reshape", lambda a: a.reshape(4, 15), lambda m: (m(3, 4, 5),), ALL),
    Operator("expand", lambda a: a.expand(6, 5).contiguous(), lambda m: (m(1, 5),), ALL),
    Operator("repeat", lambda a: a.repeat(2, 3), lambda m: (m(3, 5),), ALL),
    Operator("repeat_interleave", lambda a: a.repeat_interleave(3, 0), lambda m: (m(3, 5),), NUMBERS),
    Operator("tile", lambda a: a.tile(2, 2), lambda m: (m(3, 5),), NUMBERS),
    Operator("flip", lambda a: a.flip(0, 1), lambda m: (m(3, 5),), ALL),
    Operator("roll", lambda a: a.roll((1, 2), (0, 1)), lambda m: (m(3, 5),), ALL),
    Operator("rot90", lambda a: a.rot90(), lambda m: (m(3, 5),), NUMBERS),
    Operator("unfold", lambda a: a.unfold(0, 3, 2).contiguous(), lambda m: (m(11),), NUMBERS),
    Operator("diagonal", lambda a: (a.diagonal().contiguous(), torch.diag(a[0])), lambda m: (m(5, 5),), NUMBERS),
    Operator("diag_embed", torch.diag_embed, lambda m: (m(3, 5),), FLOATS),
    Operator("meshgrid", lambda a, b: torch.meshgrid(a, b, indexing="ij"), lambda m: (m(3), m(5)), NUMBERS),
    Operator("pad", lambda a: F.pad(a, (1, 2, 3, 0), value=1), lambda m: (m(3, 5),), ALL),
    Operator("views", _viewed, lambda m: (m(5, 7),), NUMBERS, grad=False),
    Operator(
        "fill",
        lambda a: (torch.full_like(a, 1), torch.zeros_like(a), torch.ones_like(a)),
        lambda m: (m(5, 7),),
        ALL,
        grad=False,
    ),
    Operator(
        "arange",
        lambda a: torch.arange(2, 20, 3, dtype=a.dtype, device=a.device),
        lambda m: (m(1),),
        NUMBERS,
        grad=False,
    ),
    Operator(
        "linspace",
        lambda a: torch.linspace(-1, 1, 21, dtype=a.dtype, device=a.device),
        lambda m: (m(1),),
        slack=2,
        grad=False,
    ),
    Operator("eye", lambda a: torch.eye(5, 7, dtype=a.dtype, device=a.device), lambda m: (m(1),), ALL, grad=False),
    Operator(
        "channels_last", lambda a: a.to(memory_format=torch.channels_last) + 1, lambda m: (m(2, 3, 4, 5),), NUMBERS
    ),
    Operator("scalar", lambda a: (a[2, 3] + 1, a.sum() * 2, a.t()[1, 1]), lambda m: (m(5, 5),), NUMBERS, slack=8),
    Operator(
        "index_large",
        lambda a, i: a.index_select(0, i),
        lambda m: (m(1 << 16, 8), m.integers(1 << 16, 1 << 17)),
        ("float32",),
        "full",
        grad=False,
    ),
]
