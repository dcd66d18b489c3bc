"""The finder's second half: starts the handling of a watched module, or finds that there is nothing to do in this process.

A machine where there is nothing to do loads this file and no other: imports beyond what the standard library has already loaded
wait until there is a reason.
"""

from __future__ import annotations

import os
import sys

from _torchada_startup import FINDER, WATCHED_AT_START, ChainedLoader

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from importlib.machinery import ModuleSpec


def follow(name: str, execute: Callable[[], None]) -> None:
    """Handle the import of the watched module `name`, which includes calling `execute`. Called under no lock but the module's."""
    if name == "torch" and not _is_there_anything_to_do():
        FINDER.watched.clear()
        execute()
        return
    from torchada.hooks import activation

    activation.follow(name, execute)


def become_simulated(spec: ModuleSpec) -> None:
    """Turn the spec that stands for a missing adapter module into the simulator's."""
    from torchada.backends.select import simulated_spec
    from torchada.base.settings import read

    found = simulated_spec(spec.name, read())
    if found is None:
        raise ModuleNotFoundError(f"No module named {spec.name!r}, and no simulator of it either", name=spec.name)
    vars(spec).update(vars(found))
    spec.loader = ChainedLoader(found.loader)  # type: ignore[assignment]


def _is_there_anything_to_do() -> bool:
    """Answered before torch is executed, and without it."""
    if not _deserves_a_closer_look():
        return False
    from torchada.hooks import choice

    return choice.choose()


def _deserves_a_closer_look() -> bool:
    """Whether an adapter is installed or a variable of ours is set; this decides on most machines, in well under a millisecond."""
    if any(name.startswith("TORCHADA_") for name in os.environ):
        return True
    adapters = (name for name in WATCHED_AT_START if name != "torch")
    return any(name in sys.modules or getattr(FINDER.ask_remaining(name), "loader", None) for name in adapters)
