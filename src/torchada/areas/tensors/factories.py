"""Every function of the installed torch that makes a tensor on a device."""

from __future__ import annotations

from collections.abc import Iterator

from torchada.redirect.calls import Function, keyword, positional
from torchada.redirect.context import Context
from torchada.redirect.engine import Patch, Skip
from torchada.redirect.namespaces import device_position


def patches(context: Context) -> Iterator[Patch]:
    if context.mechanism.native:
        raise Skip("PyTorch's own parser translates the device strings of these calls")
    from torchada.redirect.factories import replacing

    yield from replacing(context.torch, lambda name, function: _translated(context, name, function))


def _translated(context: Context, name: str, function: Function) -> Function:
    position = device_position(context.torch, name)
    if position is None:
        return keyword(function, context.devices)
    return positional(function, context.devices, position)
