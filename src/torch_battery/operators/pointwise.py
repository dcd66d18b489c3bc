"""One element at a time."""

from __future__ import annotations

import torch
from torch.nn import functional as F

from torch_battery.operator import ALL, FLOATS, INTEGERS, NUMBERS, Operator

GROUP = "pointwise"


def _unary(*names: str) -> list[Operator]:
    return [Operator(name, getattr(torch, name), lambda m: (m(6, 33),)) for name in names]


def _positive(*names: str) -> list[Operator]:
    return [Operator(name, getattr(torch, name), lambda m: (m.positive(6, 33),), slack=2) for name in names]


def _activation(*names: str) -> list[Operator]:
    return [Operator(name, getattr(F, name), lambda m: (m(6, 33),), slack=2) for name in names]


TABLE = [
    Operator("add", lambda a, b: a + b, lambda m: (m(7, 33), m(33)), ALL, "quick"),
    Operator("sub", lambda a, b: a - b, lambda m: (m(7, 33), m(33)), NUMBERS),
    Operator("mul", lambda a, b: a * b, lambda m: (m(7, 33), m(7, 1)), ALL, "quick"),
    Operator("div", lambda a, b: a / b, lambda m: (m(7, 33), m.positive(33)), NUMBERS, "quick"),
    Operator("floor_divide", lambda a, b: a // b, lambda m: (m(7, 33), m.positive(33)), INTEGERS),
    Operator("remainder", lambda a, b: a % b, lambda m: (m(7, 33), m.positive(33)), INTEGERS),
    Operator(
        "div_trunc", lambda a, b: torch.div(a, b, rounding_mode="trunc"), lambda m: (m(40), m.positive(40)), INTEGERS
    ),
    Operator("fmod", torch.fmod, lambda m: (m(7, 33), m.positive(33)), INTEGERS),
    Operator("add_scalar", lambda a: a + 3, lambda m: (m(7, 33),), NUMBERS),
    Operator("rsub", lambda a: 3 - a, lambda m: (m(7, 33),), NUMBERS),
    Operator("add_alpha", lambda a, b: torch.add(a, b, alpha=2), lambda m: (m(40), m(40)), NUMBERS),
    Operator("addcmul", torch.addcmul, lambda m: (m(40), m(40), m(40)), slack=2),
    Operator("addcdiv", torch.addcdiv, lambda m: (m(40), m(40), m.positive(40)), slack=2),
    Operator("lerp", lambda a, b: torch.lerp(a, b, 0.3), lambda m: (m(40), m(40)), slack=2),
    Operator("pow", torch.pow, lambda m: (m.positive(7, 33), m.unit(33)), slack=4),
    Operator("square", torch.square, lambda m: (m(40),), NUMBERS),
    Operator("cube", lambda a: a**3, lambda m: (m.unit(40),), slack=2),
    Operator("atan2", torch.atan2, lambda m: (m(7, 33), m.positive(33)), slack=2),
    Operator("hypot", torch.hypot, lambda m: (m.positive(40), m.positive(40)), slack=2),
    Operator("maximum", torch.maximum, lambda m: (m.distinct(60), m.distinct(60).flip(0)), NUMBERS),
    Operator("minimum", torch.minimum, lambda m: (m.distinct(60), m.distinct(60).flip(0)), NUMBERS),
    Operator("clamp", lambda a: torch.clamp(a, -1, 1), lambda m: (m.apart(7, 33),), FLOATS),
    Operator("where", torch.where, lambda m: (m.mask(7, 33), m(7, 33), m(33)), ALL, "quick"),
    Operator("masked_fill", lambda a, b: a.masked_fill(b, 2), lambda m: (m(7, 33), m.mask(7, 33)), NUMBERS),
    *_unary("sin", "cos", "atan", "sinh", "asinh", "tanh", "sigmoid", "exp2", "neg", "erf"),
    Operator("exp", torch.exp, lambda m: (m(6, 33),), level="quick", slack=2),
    Operator("expm1", torch.expm1, lambda m: (m(6, 33),), slack=2),
    Operator("cosh", torch.cosh, lambda m: (m(6, 33),), slack=2),
    Operator("tan", torch.tan, lambda m: (m.unit(6, 33),), slack=2),
    Operator("asin", torch.asin, lambda m: (m.unit(6, 33),), slack=2),
    Operator("acos", torch.acos, lambda m: (m.unit(6, 33),), slack=2),
    Operator("atanh", torch.atanh, lambda m: (m.unit(6, 33),), slack=4),
    Operator("erfinv", torch.erfinv, lambda m: (m.unit(6, 33),), slack=4),
    *_positive("sqrt", "rsqrt", "log", "log2", "log10", "log1p", "reciprocal", "lgamma"),
    Operator("digamma", torch.digamma, lambda m: (m.positive(6, 33) + 1,), ("float32",), slack=4),
    Operator("logit", torch.logit, lambda m: (m.share(6, 33),), slack=4),
    Operator("abs", torch.abs, lambda m: (m.apart(40),), NUMBERS),
    Operator("sign", torch.sign, lambda m: (m(40),), NUMBERS, grad=False),
    Operator("floor", torch.floor, lambda m: (m(40),), grad=False),
    Operator("ceil", torch.ceil, lambda m: (m(40),), grad=False),
    Operator("round", torch.round, lambda m: (m.distinct(60),), grad=False),
    Operator("trunc", torch.trunc, lambda m: (m(40),), grad=False),
    Operator("frac", torch.frac, lambda m: (m.apart(40),)),
    Operator("logaddexp", torch.logaddexp, lambda m: (m(40), m(40)), slack=2),
    Operator("sinc", torch.sinc, lambda m: (m.positive(40),), slack=4),
    *_activation("gelu", "silu", "softplus", "mish", "elu", "selu", "logsigmoid", "softsign", "tanhshrink"),
    Operator("relu", F.relu, lambda m: (m.apart(6, 33),), level="quick"),
    Operator("relu6", F.relu6, lambda m: (m.apart(6, 33) * 4,)),
    Operator("leaky_relu", F.leaky_relu, lambda m: (m.apart(6, 33),)),
    Operator("hardswish", F.hardswish, lambda m: (m.apart(6, 33),), slack=2),
    Operator("hardsigmoid", F.hardsigmoid, lambda m: (m.apart(6, 33),), slack=2),
    Operator("hardtanh", F.hardtanh, lambda m: (m.apart(6, 33),)),
    Operator("prelu", F.prelu, lambda m: (m.apart(4, 5, 6), m.positive(5))),
    Operator("gelu_tanh", lambda a: F.gelu(a, approximate="tanh"), lambda m: (m(6, 33),), slack=2),
    Operator("glu", F.glu, lambda m: (m(6, 34),), slack=2),
    Operator("eq", lambda a, b: a == b, lambda m: (m(60), m(60)), ALL, "quick", grad=False),
    Operator("ne", lambda a, b: a != b, lambda m: (m(60), m(60)), ALL, grad=False),
    Operator("lt", lambda a, b: a < b, lambda m: (m(60), m(60)), NUMBERS, grad=False),
    Operator("ge", lambda a, b: a >= b, lambda m: (m(60), m(60)), NUMBERS, grad=False),
    Operator("logical_and", torch.logical_and, lambda m: (m.mask(60), m.mask(60)), ("bool",), grad=False),
    Operator("logical_or", torch.logical_or, lambda m: (m.mask(60), m.mask(60)), ("bool",), grad=False),
    Operator("logical_not", torch.logical_not, lambda m: (m(60),), ALL, grad=False),
    Operator("logical_xor", torch.logical_xor, lambda m: (m(60), m(60)), ALL, grad=False),
    Operator("bitwise_and", lambda a, b: a & b, lambda m: (m(60), m(60)), ("int64", "bool")),
    Operator("bitwise_or", lambda a, b: a | b, lambda m: (m(60), m(60)), ("int64", "bool")),
    Operator("bitwise_xor", lambda a, b: a ^ b, lambda m: (m(60), m(60)), ("int64", "bool")),
    Operator("bitwise_not", lambda a: ~a, lambda m: (m(60),), ("int64", "bool")),
    Operator("shift_left", lambda a: a << 2, lambda m: (m(60),), INTEGERS),
    Operator("shift_right", lambda a: a >> 1, lambda m: (m(60),), INTEGERS),
    Operator("isnan", torch.isnan, lambda m: (m(40) / 0,), FLOATS, grad=False),
    Operator("isfinite", torch.isfinite, lambda m: (m(40) / 0,), FLOATS, grad=False),
    Operator("nan_to_num", torch.nan_to_num, lambda m: (torch.cat([m(40), m(1) * float("nan")]),), FLOATS),
    Operator(
        "in_place",
        lambda a, b: a.clone().add_(b).mul_(2).clamp_(-2, 2),
        lambda m: (m(7, 33), m(33)),
        NUMBERS,
        grad=False,
    ),
    Operator(
        "out", lambda a, b: torch.mul(a, b, out=torch.empty_like(a)), lambda m: (m(40), m(40)), NUMBERS, grad=False
    ),
    Operator(
        "foreach",
        lambda a, b: torch._foreach_add(torch._foreach_mul([a, b], 2), [b, a]),
        lambda m: (m(40), m(40)),
        FLOATS,
    ),
    Operator("complex", lambda a, b: a * b + a.conj(), lambda m: (m(40), m(40)), ("complex64",), slack=2),
    Operator(
        "complex_parts", lambda a: (a.real, a.imag, a.abs(), a.angle()), lambda m: (m(40),), ("complex64",), slack=4
    ),
    Operator(
        "add_large",
        lambda a, b: a + b,
        lambda m: (m(1 << 22), m(1 << 22)),
        ("float32", "bfloat16", "int64"),
        "full",
        grad=False,
    ),
]
