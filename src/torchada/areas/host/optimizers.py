"""Optimizers with capturable=True list the devices that can capture a step in a graph; on the host, the CPU is one."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from types import FunctionType

from torchada.redirect.context import Context
from torchada.redirect.engine import Patch, Skip

_NAME = "_get_capturable_supported_devices"


def patches(context: Context) -> Iterator[Patch]:
    original = getattr(sys.modules.get(f"{context.torch.optim.__name__}.optimizer"), _NAME, None)
    if not isinstance(original, FunctionType):
        raise Skip(f"this torch has no {_NAME}")
    listed = _with_the_cpu(original)
    prefix = f"{context.torch.optim.__name__}."
    for name, module in list(sys.modules.items()):
        if name.startswith(prefix) and vars(module).get(_NAME) is original:
            yield Patch(module, _NAME, listed, None, note="optimizers with capturable=True")


def _with_the_cpu(original: FunctionType) -> FunctionType:
    """The same function with "cpu" in its list. TorchScript compiles some optimizers, and reads the source of the original."""
    code = original.__code__
    consts = tuple((*each, "cpu") if isinstance(each, tuple) and "cuda" in each else each for each in code.co_consts)
    if consts == code.co_consts:
        raise Skip(f"{_NAME} has no list of devices")
    made = FunctionType(code.replace(co_consts=consts), original.__globals__, _NAME, original.__defaults__)
    made.__annotations__ = original.__annotations__
    made.__module__ = original.__module__
    return made
