"""The finder's second half: starts the handling of a watched module, or finds that there is nothing to do in this process.

A machine where there is nothing to do loads this file and no other: imports beyond what the standard library has already loaded
wait until there is a reason.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from importlib.machinery import ModuleSpec

    from torchada.hooks.state import Finder


def follow(name: str, execute: Callable[[], None], finder: Finder) -> None:
    """Handle the import of the watched module `name`, which includes calling `execute`. Called under no lock but the module's."""
    if name == "torch" and not _is_there_anything_to_do(finder):
        finder.watched.clear()
        execute()
        return
    if "torch" not in sys.modules and not name.startswith("torch"):
        _follow_management(name, execute, finder)
        return
    from torchada.hooks import activation

    activation.follow(name, execute, finder)


def _follow_management(name: str, execute: Callable[[], None], finder: Finder) -> None:
    """Handle the import of a module that manages devices, by a program that does without torch."""
    if _deserves_a_closer_look(finder):
        from torchada.hooks import management

        management.follow(name, execute, finder)
    else:
        execute()


def simulated_spec(name: str) -> ModuleSpec:
    """The simulator's spec for an adapter module that is not installed."""
    from torchada.backends import select
    from torchada.base import settings

    spec = select.simulated_spec(name, settings.read())
    if spec is None:
        raise ModuleNotFoundError(f"No module named {name!r}, and no simulator of it either", name=name)
    return spec


def _is_there_anything_to_do(finder: Finder) -> bool:
    """Answered before torch is executed, and without it."""
    if not _deserves_a_closer_look(finder):
        return False
    from torchada.hooks import choice

    return choice.choose(finder)


def _deserves_a_closer_look(finder: Finder) -> bool:
    """Whether an adapter is installed or a variable of ours is set; this decides on most machines, in well under a millisecond."""
    if any(name.startswith("TORCHADA_") for name in os.environ):
        return True
    adapters = [name for name in list(finder.watched) if name.startswith("torch_")]  # areas watch no modules yet
    return any(name in sys.modules or getattr(finder.ask_remaining(name), "loader", None) for name in adapters)
