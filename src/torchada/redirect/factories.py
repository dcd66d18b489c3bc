"""Put other functions in the place of every function of the installed torch that makes a tensor on a device.

They are found by their schemas, not by a list.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from torchada.redirect.calls import Function
from torchada.redirect.engine import Patch
from torchada.redirect.namespaces import device_functions, forget_functions, holders
from torchada.redirect.script_builtins import ScriptBuiltins

if TYPE_CHECKING:
    from torchada.redirect.types import AnyFunction


def replacing(torch: Any, make: Callable[[str, Function], Function]) -> Iterator[Patch]:
    """Patches that put `make(name, function)` in the place of each such function, wherever a module holds it."""
    replaced: dict[int, AnyFunction] = {}
    functions = list(device_functions(torch))
    for namespace, name, function in functions:
        call = replaced.get(id(function)) or replaced.setdefault(id(function), make(name, function))
        entry = staticmethod(call) if isinstance(namespace, type) else call
        place = "torch" if isinstance(namespace, type) else namespace.__name__
        yield Patch(namespace, name, entry, f'{place}.{name}(device="cuda")', refresh=forget_functions)
    in_namespaces = {
        id(torch._C._VariableFunctions),
        *(id(getattr(torch._C, n, None)) for n in dir(torch._C) if n[:1] == "_"),
    }
    for module, name, function in holders(function for *_, function in functions):
        if id(module) not in in_namespaces:
            api = f'{module.__name__}.{name}(device="cuda")'
            yield Patch(module, name, replaced[id(function)], api, refresh=forget_functions)
    builtins = ScriptBuiltins(torch)
    yield Patch(builtins, "builtins", True, None, note="TorchScript treats redirected functions as builtins")
