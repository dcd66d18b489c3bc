"""Execute a watched module as its own loader does, and tell the rest of torchada once that is done.

A machine with nothing for us to do pays for this file and no other: what it imports beyond the standard library's loaded
modules waits until there is a reason.
"""

from __future__ import annotations

import os
import sys

from _torchada_startup import FINDER, WATCHED_AT_START, ChainedLoader, not_started

TYPE_CHECKING = False
if TYPE_CHECKING:
    from importlib.machinery import ModuleSpec
    from types import ModuleType
    from typing import Any


def execute(module: ModuleType, loader: Any) -> None:
    """Execute `module` with its true loader. Called outside every lock but the module's own."""
    name = module.__name__
    try:
        activation = _activation(name)
    except Exception as error:
        not_started(error)
        activation = None
    if activation is None:
        loader.exec_module(module)
        return
    state = activation.STATE
    again = state.has(name) and name not in state.executing
    with state.executing_module(name):
        loader.exec_module(module)
    activation.module_arrived(name, again=again)


def become_simulated(spec: ModuleSpec) -> None:
    """Turn the spec that stands for a missing adapter module into the simulator's."""
    from torchada._settings import read
    from torchada.backends.select import simulated_spec

    found = simulated_spec(spec.name, read())
    if found is None:
        raise ModuleNotFoundError(f"No module named {spec.name!r}, and no simulator of it either", name=spec.name)
    vars(spec).update(vars(found))
    spec.loader = ChainedLoader(found.loader)  # type: ignore[assignment]


def _activation(name: str) -> Any:
    """What acts on the news of `name`; None where nobody needs to."""
    if name == "torch" and not _is_worthwhile():
        FINDER.watched.clear()
        return None
    from torchada.hooks import activation

    return activation


def _is_worthwhile() -> bool:
    """Could there be anything to do in this process? Asked before torch is executed, and answered without it."""
    if not _deserves_a_closer_look():
        return False
    from torchada.hooks.choice import is_worthwhile

    return is_worthwhile()


def _deserves_a_closer_look() -> bool:
    """Whether an adapter is there, or anything was asked of us: settles most machines in a fraction of a millisecond."""
    if any(name.startswith("TORCHADA_") for name in os.environ):
        return True
    adapters = (name for name in WATCHED_AT_START if name != "torch")
    return any(name in sys.modules or getattr(FINDER.ask_remaining(name), "loader", None) for name in adapters)
