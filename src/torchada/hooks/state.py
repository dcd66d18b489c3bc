"""Everything the hook knows, in one object with one lock beside it; `status` reads it, `reset` serves the tests."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from threading import RLock
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torchada.backends.select import Selection
    from torchada.redirect.context import Context
    from torchada.redirect.engine import Patch
    from torchada.telemetry.process import Telemetry


@dataclass
class AreaRecord:
    """What became of one area: `outcome` is "applied", "skipped" or "failed"; `reason` says why unless applied."""

    name: str
    module: str
    outcome: str
    reason: str = ""
    patches: int = 0


class HookState:
    """`modules` holds the watched modules that have arrived, `executing` those under way; areas and problems stay in order."""

    def __init__(self) -> None:
        self.lock = RLock()
        self.modules: set[str] = set()
        self.executing: set[str] = set()
        self.claimed: set[str] = set()
        self.areas: dict[str, AreaRecord] = {}
        self.problems: list[str] = []
        self.selection: Selection | None = None
        self.context: Context | None = None
        self.telemetry: Telemetry | None = None  # where calls are recorded
        self.made: dict[str, tuple[Context, list[Patch]]] = {}  # the patches of areas, and for what context
        self.late: bool | None = (
            None  # whether torch was in use before the hook came; None until redirection first begins
        )

    def arrived(self, name: str) -> None:
        """Note that `name` has been executed to its end."""
        with self.lock:
            self.modules.add(name)

    @contextmanager
    def executing_module(self, name: str) -> Iterator[None]:
        """While a watched module is being executed."""
        self.executing.add(name)
        try:
            yield
        finally:
            self.executing.discard(name)

    def has(self, name: str) -> bool:
        """Whether `name` has been executed to its end, under our eyes or before we came."""
        return name in self.modules and name in sys.modules

    def claim(self, key: str) -> bool:
        """True for the first caller only: two threads may bring the same news."""
        with self.lock:
            if key in self.claimed:
                return False
            self.claimed.add(key)
            return True

    def release(self, key: str) -> None:
        with self.lock:
            self.claimed.discard(key)

    def renew_lock(self) -> None:
        """In a forked child: a thread that held the lock is not there to release it."""
        self.lock = RLock()

    def reset(self) -> None:
        """Forget everything but what has arrived, and what could serve again: the modules of the process are what they are."""
        with self.lock:
            self.claimed.clear()
            self.areas.clear()
            self.problems.clear()
            self.selection = None
            self.context = None
            self.telemetry = None


STATE = HookState()
os.register_at_fork(after_in_child=STATE.renew_lock)


def is_complete(module: ModuleType | None) -> bool:
    """Whether a module of sys.modules has been executed to its end."""
    return module is not None and not getattr(getattr(module, "__spec__", None), "_initializing", False)
