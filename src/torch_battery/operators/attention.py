"""Scaled dot-product attention, by whatever kernel PyTorch chooses and by each that can be chosen."""

from __future__ import annotations

from typing import Any

import torch
from torch.nn import functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

from torch_battery.inputs import Inputs
from torch_battery.operator import FLOATS, SINGLE, Operator

GROUP = "attention"

_attend = F.scaled_dot_product_attention


def _query(m: Inputs) -> tuple[Any, ...]:
    return m(2, 4, 17, 32), m(2, 4, 19, 32), m(2, 4, 19, 32)


def _square(m: Inputs) -> tuple[Any, ...]:
    return m(2, 4, 16, 32), m(2, 4, 16, 32), m(2, 4, 16, 32)


def _by_hand(q: Any, k: Any, v: Any) -> Any:
    return (q @ k.transpose(-1, -2) / q.shape[-1] ** 0.5).softmax(-1) @ v


def _math(q: Any, k: Any, v: Any) -> Any:
    with sdpa_kernel(SDPBackend.MATH):
        return _attend(q, k, v)


def _layer(a: Any, w: Any, b: Any, wo: Any, bo: Any) -> Any:
    return F.multi_head_attention_forward(a, a, a, 16, 4, w, b, None, None, False, 0.0, wo, bo, need_weights=False)[0]


TABLE = [
    Operator("sdpa", _attend, _query, FLOATS, "quick", slack=4),
    Operator("sdpa_causal", lambda q, k, v: _attend(q, k, v, is_causal=True), _square, FLOATS, slack=4),
    Operator(
        "sdpa_mask",
        lambda q, k, v, b: _attend(q, k, v, attn_mask=b | torch.ones_like(b).tril()),
        lambda m: (*_square(m), m.mask(16, 16)),
        FLOATS,
        slack=4,
    ),
    Operator(
        "sdpa_bias",
        lambda q, k, v, b: _attend(q, k, v, attn_mask=b),
        lambda m: (*_square(m), m(2, 4, 16, 16)),
        FLOATS,
        slack=4,
    ),
    Operator("sdpa_scale", lambda q, k, v: _attend(q, k, v, scale=0.3), _query, FLOATS, slack=8),
    Operator(
        "sdpa_grouped",
        lambda q, k, v: _attend(q, k, v, enable_gqa=True),
        lambda m: (m(2, 8, 9, 32), m(2, 2, 9, 32), m(2, 2, 9, 32)),
        FLOATS,
        slack=4,
    ),
    Operator("sdpa_math", _math, _query, FLOATS, slack=8),
    Operator("by_hand", _by_hand, _query, FLOATS, slack=8),
    Operator(
        "multi_head", _layer, lambda m: (m(5, 2, 16), m.unit(48, 16), m(48), m.unit(16, 16), m(16)), SINGLE, slack=10
    ),
    Operator(
        "sdpa_long", _attend, lambda m: (m(1, 4, 300, 64), m(1, 4, 300, 64), m(1, 4, 300, 64)), FLOATS, "full", slack=8
    ),
]
