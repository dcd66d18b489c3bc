"""From one data type to another: the rounding has to be the CPU's."""

from __future__ import annotations

import torch

from torch_battery.operator import FLOATS, NUMBERS, SINGLE, Operator

GROUP = "conversions"


def _halfway() -> torch.Tensor:
    """Numbers halfway between two of bfloat16 and of float16, where rounding to even shows."""
    steps = torch.arange(1, 129, dtype=torch.float32)
    return torch.cat([1 + (steps - 0.5) * 2**-7, 1 + (steps - 0.5) * 2**-10, -1 - (steps - 0.5) * 2**-7])


TABLE = [
    Operator(
        "to_bfloat16",
        lambda a: a.float().bfloat16().float(),
        lambda m: (_halfway(),),
        SINGLE,
        "quick",
        grad=False,
        relatives=False,
        slack=0,
    ),
    Operator(
        "to_float16",
        lambda a: a.float().half().float(),
        lambda m: (_halfway(),),
        SINGLE,
        "quick",
        grad=False,
        relatives=False,
        slack=0,
    ),
    Operator("to_float32", lambda a: a.to(torch.float32), lambda m: (m(40),), NUMBERS, grad=False),
    Operator("to_int64", lambda a: a.long(), lambda m: (m(40) * 10,), FLOATS, grad=False),
    Operator("to_int8", lambda a: a.to(torch.int8), lambda m: (m(40) * 10,), SINGLE, grad=False),
    Operator("to_bool", lambda a: a.bool(), lambda m: (m(40),), NUMBERS, grad=False),
    Operator("overflow", lambda a: (a.float() * 1e5).half(), lambda m: (m(40),), SINGLE, grad=False, relatives=False),
    Operator(
        "promotion", lambda a, b: (a + b, a * 2.5, b + True), lambda m: (m(40), m.integers(9, 40)), NUMBERS, grad=False
    ),
    Operator(
        "view_dtype",
        lambda a: a.float().view(torch.int32),
        lambda m: (m(40),),
        SINGLE,
        grad=False,
        strided=False,
        relatives=False,
    ),
    Operator(
        "to_float8",
        lambda a: a.float().to(torch.float8_e4m3fn).float(),
        lambda m: (m(40),),
        SINGLE,
        "full",
        grad=False,
        relatives=False,
        slack=0,
    ),
]
