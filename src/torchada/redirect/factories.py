"""Put other functions in the place of every function of the installed torch that makes a tensor on a device.

They are found by their schemas, not by a list.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from types import ModuleType
from typing import TYPE_CHECKING, Any

from torchada.redirect.calls import Function
from torchada.redirect.engine import Patch
from torchada.redirect.namespaces import device_functions, forget_functions, holders

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
    builtins = _Builtins(torch, functions)
    yield Patch(builtins, "builtins", True, None, note="TorchScript treats redirected functions as builtins")


class _Builtins:
    """TorchScript's table of builtins, which is keyed by the identity of functions: replacements of builtins are added to it.

    The table is not built again, because other code may have added entries since.
    """

    __torchada_owner__ = True

    def __init__(self, torch: ModuleType, functions: list[tuple[object, str, AnyFunction]]) -> None:
        self._table: dict[int, str] = torch.jit._builtins._get_builtin_table()
        self._functions = functions
        # With the functions: while they live, no other object has their identity.
        self._added: dict[int, AnyFunction] = {}

    def get(self, name: str) -> bool:
        return bool(self._added)

    def set(self, name: str, value: bool) -> None:
        for known in self._added:
            self._table.pop(known, None)
        self._added = {}
        for namespace, function, original in self._functions if value else ():
            now = getattr(namespace, function)
            if id(original) in self._table and id(now) not in self._table:
                self._added[id(now)] = now
                self._table[id(now)] = self._table[id(original)]

    def delete(self, name: str) -> None:
        self.set(name, False)
