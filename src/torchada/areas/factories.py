"""Every function of the installed torch that makes a tensor on a device: found by its schema, not by a list."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from torchada.redirect.calls import Function, keyword, positional
from torchada.redirect.context import Context
from torchada.redirect.engine import Patch, Skip
from torchada.redirect.namespaces import device_functions, device_position, forget_functions, holders


def patches(context: Context) -> Iterator[Patch]:
    if context.mechanism.native:
        raise Skip("PyTorch's own parser translates the device strings of these calls")
    torch = context.torch
    replaced: dict[int, Any] = {}
    originals: dict[int, Any] = {}
    for namespace, name, function in device_functions(torch):
        originals[id(function)] = function
        call = replaced.setdefault(id(function), _translated(context, name, function))
        entry = staticmethod(call) if isinstance(namespace, type) else call
        place = "torch" if isinstance(namespace, type) else namespace.__name__
        yield Patch(namespace, name, entry, f'{place}.{name}(device="cuda")', forget_functions)
    in_namespaces = {
        id(torch._C._VariableFunctions),
        *(id(getattr(torch._C, n, None)) for n in dir(torch._C) if n[:1] == "_"),
    }
    for module, name, function in holders(originals):
        if id(module) not in in_namespaces:
            yield Patch(
                module, name, replaced[id(function)], f'{module.__name__}.{name}(device="cuda")', forget_functions
            )
    # TorchScript finds builtins by the identity of the function. Others have put theirs into the table since it was made.
    builtins = torch.jit._builtins._get_builtin_table()
    for function, call in replaced.items():
        if function in builtins:
            yield Patch(builtins, id(call), builtins[function], f"TorchScript knows {call.__name__} as a builtin")


def _translated(context: Context, name: str, function: Function) -> Function:
    position = device_position(context.torch, name)
    if position is None:
        return keyword(function, context.devices)
    return positional(function, context.devices, position)
