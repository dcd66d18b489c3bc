"""Find a watched module through the other finders, and be told once it has been executed.

A machine with nothing for us to do pays for this file and no other: what it imports beyond the standard library's loaded
modules waits until there is a reason.
"""

from __future__ import annotations

import os
import sys

from torchada._startup import WATCHED_AT_START, HookFinder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from importlib.machinery import ModuleSpec
    from types import ModuleType
    from typing import Any


def find_spec(
    finder: HookFinder, name: str, path: Sequence[str] | None, target: ModuleType | None
) -> ModuleSpec | None:
    """The spec the remaining finders give, its loader chained; the bare spec where there is nothing to hook."""
    spec = _ask_remaining(finder, name, path, target)
    if name == "torch" and not _deserves_a_closer_look(finder):
        finder.watched.clear()
        return spec
    from torchada.hooks import activation

    spec = spec or activation.stand_in(name)
    if spec is None or not hasattr(spec.loader, "exec_module"):
        return spec
    if name == "torch" and not activation.is_worthwhile():
        finder.watched.clear()
        return spec
    spec.loader = ChainedLoader(spec.loader)  # type: ignore[assignment]
    return spec


def _deserves_a_closer_look(finder: HookFinder) -> bool:
    """Whether an adapter is there, or anything was asked of us: settles most machines in a fraction of a millisecond."""
    if any(name.startswith("TORCHADA_") for name in os.environ):
        return True
    return any(name in sys.modules or _ask_remaining(finder, name, None, None) for name in WATCHED_AT_START[1:])


def _ask_remaining(finder: HookFinder, name: str, path: Any, target: Any) -> ModuleSpec | None:
    # Entering the import system again (importlib.util.find_spec) would deadlock with threads and recurse with other hooks of our
    # kind; the finders before ours have answered None already.
    meta_path = list(sys.meta_path)
    start = meta_path.index(finder) + 1 if finder in meta_path else 0
    for other in meta_path[start:]:
        find = getattr(other, "find_spec", None)
        spec: ModuleSpec | None = find(name, path, target) if find else None
        if spec is not None:
            return spec
    return None


class ChainedLoader:
    """Stands before the true loader until the module is executed, and then is nowhere to be seen."""

    def __init__(self, loader: Any) -> None:
        self._torchada_loader = loader

    def __getattr__(self, name: str) -> Any:
        # get_code, get_source, get_resource_reader, path ...: what others may ask of a spec that is not executed yet.
        return getattr(self.__dict__["_torchada_loader"], name)

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        create = getattr(self._torchada_loader, "create_module", None)
        module: ModuleType | None = create(spec) if create else None
        return module

    def exec_module(self, module: ModuleType) -> None:
        from torchada.hooks.activation import module_arrived
        from torchada.hooks.state import STATE

        _put_back(module, self._torchada_loader)
        with STATE.executing_module(module.__name__):
            self._torchada_loader.exec_module(module)
        STATE.arrived(module.__name__)
        module_arrived(module.__name__)


def _put_back(module: ModuleType, loader: Any) -> None:
    module.__loader__ = loader
    if module.__spec__ is not None:
        module.__spec__.loader = loader
