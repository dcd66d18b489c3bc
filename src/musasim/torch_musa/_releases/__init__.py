"""What releases after 2.7.1 have changed in the names of torch_musa, put into its modules when the package is imported.

The modules are those of 2.7.1. `names` is the table of the changes, and a folder for each release has what they consist of, in
files named like the modules.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from importlib import import_module
from types import ModuleType
from typing import Any

from musasim.base import release

from . import names

_taken: list[tuple[Any, str, Any]] = []


def publish(package: ModuleType) -> None:
    """Bring the modules of `package` to the chosen release."""
    for name, changes in release.so_far(names.CHANGED).items():
        for path, entries in changes.items():
            _change(package, name, path, entries)
    for removals in release.so_far(names.REMOVED).values():
        for path, entries in removals.items():
            for entry in entries:
                owner = _owner(package, path)
                _taken.append((owner, entry, vars(owner)[entry]))
                delattr(owner, entry)
    _list_public_names(package)


def put_back() -> None:
    """What an earlier import of the package has taken away, for importlib.reload: its modules are those of 2.7.1 again."""
    for owner, entry, value in _taken:
        setattr(owner, entry, value)
    _taken.clear()


def _change(package: ModuleType, release_name: str, path: str, entries: Iterable[str]) -> None:
    module, _, kind = path.partition(":")
    source = import_module(
        f".since_{release_name.replace('.', '_')}.{module.rpartition('.')[2] or 'package'}", __name__
    )
    target = _owner(package, path)
    for entry in entries:
        value = vars(getattr(source, kind) if kind else source)[entry]
        _call_it_the_modules(value, source, target)
        before = vars(target).get(entry)
        setattr(target, entry, value)
        if not kind:
            _show(package, path, entry, before)


def _owner(package: ModuleType, path: str) -> Any:
    """The module `path`, or with "module:Class" the class in it; the package itself for an empty path."""
    module, _, kind = path.partition(":")
    owner = import_module(f"{package.__name__}.{module}") if module else package
    return getattr(owner, kind) if kind else owner


def _call_it_the_modules(value: Any, source: ModuleType, target: Any) -> None:
    if getattr(value, "__module__", None) == source.__name__:
        value.__module__ = getattr(target, "__module__", None) or target.__name__


def _show(package: ModuleType, path: str, entry: str, before: Any) -> None:
    """The name where modules have imported what it stood for, and a new public one in torch.musa."""
    if before is None:
        if path.startswith("core.") and not entry.startswith("_"):
            setattr(package, entry, getattr(_owner(package, path), entry))
        return
    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] == package.__name__ and vars(module).get(entry) is before:
            setattr(module, entry, getattr(_owner(package, path), entry))


def _list_public_names(package: ModuleType) -> None:
    """`__all__` of core.memory, whose names torch.musa shows."""
    memory: Any = import_module(f"{package.__name__}.core.memory")
    added = {entry for changes in release.so_far(names.CHANGED).values() for entry in changes.get("core.memory", ())}
    public = {*memory.__all__, *(entry for entry in added if not entry.startswith("_"))}
    memory.__all__ = sorted(name for name in public if hasattr(package, name))
