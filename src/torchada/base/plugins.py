"""Read an entry-point group, lazily, and report faults: a broken plug-in of another package must not break the user's import."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from torchada.base.faults import pass_on_interrupt
from torchada.base.warnings import warn_once


def entry_points(group: str, only: str | None = None) -> Iterator[tuple[str, Any]]:
    """Yield (name, loaded object) of each entry point of `group`; `only` picks one by name. A faulty one ends in a warning."""
    for entry in _find(group):
        if only is not None and entry.name != only:
            continue
        try:
            yield entry.name, entry.load()
        except Exception as error:
            pass_on_interrupt(error)
            fault = f"{type(error).__name__}: {error}"
            warn_once(f"entry point {entry.name!r} of group {group!r} cannot be loaded: {fault}", error)


def names(group: str) -> list[str]:
    """The names in `group`, without loading what they stand for."""
    return [entry.name for entry in _find(group)]


def _find(group: str) -> Any:
    from importlib.metadata import distributions, entry_points  # costs more than our start-up: imported when needed

    # Hardly any environment has an entry point for torchada, and parsing those of all packages costs five times this check.
    if not any(group in (package.read_text("entry_points.txt") or "") for package in distributions()):
        return ()
    return entry_points(group=group)
