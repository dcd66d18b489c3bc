"""Does something when a module of torch has been imported, whenever that is: for the parts that `import torch` leaves alone."""

from __future__ import annotations

import importlib.abc
import sys
from collections.abc import Callable
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType
from typing import Any

Action = Callable[[Any], None]
_ACTIONS: dict[str, Action] = {}


class _Finder(importlib.abc.MetaPathFinder):
    def find_spec(self, fullname: str, path: Any, target: Any = None) -> ModuleSpec | None:
        if fullname not in _ACTIONS:
            return None
        spec = PathFinder.find_spec(fullname, path, target)
        if spec is not None and spec.loader is not None:
            spec.loader = _Loader(spec.loader, _ACTIONS[fullname])
        return spec


class _Loader(importlib.abc.Loader):
    """The module's own loader, and the action after it."""

    def __init__(self, own: importlib.abc.Loader, action: Action) -> None:
        self._own = own
        self._action = action

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return self._own.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        module.__loader__ = self._own
        if module.__spec__ is not None:
            module.__spec__.loader = self._own
        self._own.exec_module(module)
        self._action(module)


def after_import(name: str, action: Action) -> None:
    """Call `action(module)` once the module called `name` is there: now, or right after its import."""
    module = sys.modules.get(name)
    if module is not None:
        action(module)
        return
    _ACTIONS[name] = action
    if not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        # Just before the finder whose work it does: others in front of it may want to see the import as well.
        sys.meta_path.insert(sys.meta_path.index(PathFinder), _Finder())
