"""Optimizers with capturable=True list the devices that can capture a step in a graph; on the host, the CPU is one."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from types import FunctionType

from torchada.redirect.context import Context
from torchada.redirect.engine import Patch, Skip
from torchada.redirect.namespaces import modules_with

_NAME = "_get_capturable_supported_devices"


def patches(context: Context) -> Iterator[Patch]:
    original = getattr(import_module(f"{context.torch.optim.__name__}.optimizer"), _NAME, None)
    if not isinstance(original, FunctionType):
        raise Skip(f"this torch has no {_NAME}")
    listed = _with_the_cpu(original)
    for module, value in modules_with(context.torch.optim.__name__, _NAME):
        if value is original:
            yield Patch(module, _NAME, listed, None, note="optimizers with capturable=True")


def _with_the_cpu(original: FunctionType) -> FunctionType:
    """The same function with "cpu" in its list. TorchScript compiles some optimizers, and reads the source of the original."""
    code = original.__code__
    consts = tuple(
        (*const, "cpu") if isinstance(const, tuple) and "cuda" in const else const for const in code.co_consts
    )
    if consts == code.co_consts:
        raise Skip(f"{_NAME} has no list of devices")
    made = FunctionType(code.replace(co_consts=consts), original.__globals__, _NAME, original.__defaults__)
    made.__annotations__ = original.__annotations__
    made.__module__ = original.__module__
    return made
