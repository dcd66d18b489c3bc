"""Layers that normalise, and recurrent ones."""

from __future__ import annotations

from typing import Any

import torch
from torch.nn import functional as F

from torch_battery.operator import FLOATS, SINGLE, Operator

GROUP = "normalisation"


def _batch_norm(a: Any, w: Any, b: Any) -> tuple[Any, ...]:
    mean, var = torch.zeros_like(w), torch.ones_like(w)
    return F.batch_norm(a, mean, var, w, b, training=True), mean, var


def _lstm(a: Any, wi: Any, wh: Any, bi: Any, bh: Any) -> tuple[Any, ...]:
    zero = a.new_zeros(1, a.shape[1], 5)
    return torch.lstm(a, (zero, zero), [wi, wh, bi, bh], True, 1, 0.0, False, False, False)


def _gru(a: Any, wi: Any, wh: Any, bi: Any, bh: Any) -> tuple[Any, ...]:
    return torch.gru(a, a.new_zeros(1, a.shape[1], 5), [wi, wh, bi, bh], True, 1, 0.0, False, False, False)


TABLE = [
    Operator(
        "layer_norm",
        lambda a, w, b: F.layer_norm(a, (33,), w, b),
        lambda m: (m(6, 33), m(33), m(33)),
        FLOATS,
        "quick",
        slack=6,
    ),
    Operator("layer_norm_2d", lambda a: F.layer_norm(a, (5, 7)), lambda m: (m(4, 5, 7),), slack=6),
    Operator("rms_norm", lambda a, w: F.rms_norm(a, (33,), w), lambda m: (m(6, 33), m(33)), slack=6),
    Operator("group_norm", lambda a, w, b: F.group_norm(a, 2, w, b), lambda m: (m(3, 4, 5, 5), m(4), m(4)), slack=6),
    Operator("instance_norm", lambda a: F.instance_norm(a), lambda m: (m(3, 4, 5, 5),), slack=6),
    Operator("batch_norm", _batch_norm, lambda m: (m(6, 4, 5), m(4), m(4)), SINGLE, "quick", slack=6),
    Operator("batch_norm_2d", _batch_norm, lambda m: (m(3, 4, 5, 5), m(4), m(4)), SINGLE, slack=6),
    Operator(
        "batch_norm_eval",
        lambda a, u, v: F.batch_norm(a, u, v),
        lambda m: (m(6, 4, 5), m(4), m.positive(4)),
        SINGLE,
        slack=6,
        grad=False,
    ),
    Operator("normalize", lambda a: F.normalize(a, dim=-1), lambda m: (m(6, 33),), slack=4),
    Operator("local_response_norm", lambda a: F.local_response_norm(a, 3), lambda m: (m(3, 6, 5, 5),), SINGLE, slack=4),
    Operator("cosine_similarity", F.cosine_similarity, lambda m: (m(6, 33), m(6, 33)), slack=6),
    Operator(
        "lstm",
        _lstm,
        lambda m: (m(4, 3, 6), m.unit(20, 6), m.unit(20, 5), m(20), m(20)),
        SINGLE,
        slack=10,
        strided=False,
        precise=True,
    ),
    Operator(
        "gru",
        _gru,
        lambda m: (m(4, 3, 6), m.unit(15, 6), m.unit(15, 5), m(15), m(15)),
        SINGLE,
        slack=10,
        strided=False,
        precise=True,
    ),
    Operator(
        "lstm_cell",
        lambda a, h, c, wi, wh: torch.lstm_cell(a, (h, c), wi, wh),
        lambda m: (m(3, 6), m(3, 5), m(3, 5), m.unit(20, 6), m.unit(20, 5)),
        SINGLE,
        slack=10,
    ),
    Operator("layer_norm_wide", lambda a: F.layer_norm(a, (8192,)), lambda m: (m(3, 8192),), FLOATS, "full", slack=6),
]
