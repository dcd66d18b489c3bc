"""Notification of the end of modules whose execution began before the hook was installed."""

from __future__ import annotations

from collections.abc import Callable
from importlib.machinery import ModuleSpec
from types import ModuleType

Announce = Callable[[str], None]


def when_executed(module: ModuleType, announce: Announce) -> None:
    """Call `announce(name)` as soon as `module`, which is being executed now, has been executed to its end."""
    spec = module.__spec__
    if type(spec) is not ModuleSpec:
        return
    vars(spec)["_torchada_announce"] = announce
    spec.__class__ = _Executing
    if not vars(spec)["_initializing"]:  # another thread has finished it in the meantime
        spec._initializing = False  # type: ignore[attr-defined]


class _Executing(ModuleSpec):
    """The import system marks the end of a module's execution on its spec, while it still holds the module's lock."""

    @property
    def _initializing(self) -> bool:
        return bool(vars(self)["_initializing"])

    @_initializing.setter
    def _initializing(self, value: bool) -> None:
        vars(self)["_initializing"] = value
        if value:
            return
        announce: Announce = vars(self).pop("_torchada_announce")
        self.__class__ = ModuleSpec  # type: ignore[assignment]
        announce(self.name)
