"""Tables that are looked up."""

from __future__ import annotations

import torch
from torch.nn import functional as F

from torch_battery.operator import FLOATS, SINGLE, Operator

GROUP = "embedding"

TABLE = [
    Operator(
        "embedding",
        lambda i, w: F.embedding(i, w),
        lambda m: (m.integers(11, 6, 5), m(11, 8)),
        FLOATS,
        "quick",
        slack=4,
    ),
    Operator(
        "embedding_padding",
        lambda i, w: F.embedding(i, w, padding_idx=2),
        lambda m: (m.integers(11, 6, 5), m(11, 8)),
        FLOATS,
        slack=4,
    ),
    Operator(
        "embedding_bag_sum",
        lambda i, w: F.embedding_bag(i, w, mode="sum"),
        lambda m: (m.integers(11, 6, 5), m(11, 8)),
        SINGLE,
        slack=4,
        strided=False,
    ),
    Operator(
        "embedding_bag_mean",
        lambda i, w: F.embedding_bag(i, w, mode="mean"),
        lambda m: (m.integers(11, 6, 5), m(11, 8)),
        SINGLE,
        slack=4,
        strided=False,
    ),
    Operator(
        "embedding_bag_offsets",
        lambda i, w: F.embedding_bag(i, w, torch.tensor([0, 3, 3, 9], device=w.device), mode="sum"),
        lambda m: (m.integers(11, 14), m(11, 8)),
        SINGLE,
        slack=4,
        strided=False,
    ),
    Operator(
        "embedding_large",
        lambda i, w: F.embedding(i, w),
        lambda m: (m.integers(30000, 4096), m(30000, 64)),
        FLOATS,
        "full",
        slack=8,
        strided=False,
    ),
]
