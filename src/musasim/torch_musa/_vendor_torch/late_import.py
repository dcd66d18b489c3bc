"""Runs an action after the import of a module of torch that `import torch` itself does not import."""

from __future__ import annotations

import importlib.abc
import sys
from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from importlib.machinery import ModuleSpec, PathFinder
from threading import Thread
from types import ModuleType
from typing import Any

Action = Callable[[Any], None]
# Of each module, by what defines them: when this package is imported again, an action takes its own place.
_ACTIONS: dict[str, dict[tuple[str, str], Action]] = {}


class _Finder(importlib.abc.MetaPathFinder):
    def find_spec(self, fullname: str, path: Any, target: Any = None) -> ModuleSpec | None:
        if fullname not in _ACTIONS:
            return None
        spec = PathFinder.find_spec(fullname, path, target)
        if spec is not None and spec.loader is not None:
            spec.loader = _Loader(spec.loader, list(_ACTIONS[fullname].values()))
        return spec


class _Loader(importlib.abc.Loader):
    """The module's own loader, and the actions after it."""

    def __init__(self, own: importlib.abc.Loader, actions: list[Action]) -> None:
        self._own = own
        self._actions = actions

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return self._own.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        module.__loader__ = self._own
        if module.__spec__ is not None:
            module.__spec__.loader = self._own
        self._own.exec_module(module)
        for action in self._actions:
            action(module)


def _when_executed(name: str, action: Action) -> None:
    with suppress(ImportError):  # which the thread that imports it has been told
        action(import_module(name))


def after_import(name: str, action: Action) -> None:
    """Call `action(module)` for the module `name`: now, if it is imported already, otherwise right after its import."""
    module = sys.modules.get(name)
    if module is not None:
        if getattr(module.__spec__, "_initializing", False):
            # Whoever executes it may be waiting for the import that we are in, so that nothing but another thread can wait for it.
            Thread(target=_when_executed, args=(name, action), daemon=True).start()
        else:
            action(module)
        return
    _ACTIONS.setdefault(name, {})[action.__module__, getattr(action, "__qualname__", "")] = action
    if not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        # Right before the finder that it asks, because finders in front of it may need to see the import as well.
        sys.meta_path.insert(sys.meta_path.index(PathFinder), _Finder())
