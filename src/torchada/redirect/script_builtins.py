"""TorchScript's table of builtins as the owner of a patch: functions that stand in for builtins are added to it.

TorchScript compiles an operator where it meets a builtin, and the source of any other function, so it would refuse most of those
that are put in the place of a builtin. It knows builtins by identity.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from types import FunctionType
from typing import Any

from torchada.redirect.calls import original_of


class ScriptBuiltins:
    """The table is not built again, because other code may have added entries since."""

    __torchada_owner__ = True

    def __init__(self, torch: Any) -> None:
        self._torch = torch
        # With the functions: while they live, no other object has their identity.
        self._added: dict[int, object] = {}

    def get(self, name: str) -> bool:
        return bool(self._added)

    def set(self, name: str, value: bool) -> None:
        table: dict[int, str] = self._torch.jit._builtins._get_builtin_table()
        for known in self._added:
            table.pop(known, None)
        self._added = {}
        for place, function in list(self._functions()) if value else ():
            operator = self._operator(place, function, table)
            if operator and id(function) not in table:
                self._added[id(function)] = function
                table[id(function)] = operator

    def delete(self, name: str) -> None:
        self.set(name, False)

    def _functions(self) -> Iterator[tuple[str, FunctionType]]:
        """The Python functions, by name, that are where TorchScript takes its builtins from."""
        builtins = self._torch.jit._builtins
        for module in builtins._modules_containing_builtins:
            yield from ((name, value) for name, value in vars(module).items() if type(value) is FunctionType)
        for builtin, _ in builtins._builtin_ops:
            if type(builtin) is FunctionType:
                value = getattr(sys.modules.get(builtin.__module__), builtin.__name__, None)
                if type(value) is FunctionType:
                    yield builtin.__name__, value

    def _operator(self, place: str, function: FunctionType, table: dict[int, str]) -> str | None:
        """The operator of the builtin that `function` replaces."""
        # An adapter replaces some in torch alone, and torch._C still has the builtin, or our replacement of it.
        for replaced in (function, getattr(self._torch._C, place, None)):
            while original_of(replaced) is not replaced:
                replaced = original_of(replaced)
            if id(replaced) in table:
                return table[id(replaced)]
        return None
