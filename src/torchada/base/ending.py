"""What is done at the very end of the process: after every exit handler, when the interpreter lets go of its modules."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import ModuleType

_NAME = "torchada.base.last"
_acts: list[Callable[[], object]] = []


class _Last(ModuleType):
    """Nothing but sys.modules refers to it, so it goes as soon as the interpreter empties that."""

    def __del__(self) -> None:
        for act in _acts:
            act()


def as_modules_go(act: Callable[[], object]) -> None:
    """Call `act` then. atexit would call it before the handlers that were registered earlier, which may need what it drops."""
    _acts.append(act)
    if _NAME not in sys.modules:
        sys.modules[_NAME] = _Last(_NAME, "It goes when the interpreter lets go of its modules.")
