"""Everything the hook knows, in one object with one lock; `status` reads it, `disable` resets it."""

from __future__ import annotations

import atexit
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from threading import RLock
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torchada.backends.select import Selection
    from torchada.redirect.context import Context
    from torchada.redirect.engine import Patch
    from torchada.telemetry.process import Telemetry


class AreaRecord:
    """The result for one area: `outcome` is "applied", "skipped" or "failed"; `reason` says why unless it was applied."""

    def __init__(self, name: str, module: str, outcome: str) -> None:
        self.name = name
        self.module = module
        self.outcome = outcome
        self.reason = ""
        self.patches = 0


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
        # Whether torch was in use before the hook was installed; None until redirection first begins.
        self.late: bool | None = None

    def arrived(self, name: str) -> None:
        """Record that `name` has been executed completely."""
        with self.lock:
            self.modules.add(name)

    @contextmanager
    def executing_module(self, name: str) -> Iterator[None]:
        """Mark a watched module as being executed."""
        self.executing.add(name)
        try:
            yield
        finally:
            self.executing.discard(name)

    def has(self, name: str) -> bool:
        """Whether `name` has been executed completely, through the hook or before it was installed."""
        return name in self.modules and name in sys.modules

    def claim(self, key: str) -> bool:
        """True for the first caller only: two threads may report the same event."""
        with self.lock:
            if key in self.claimed:
                return False
            self.claimed.add(key)
            return True

    def release(self, key: str) -> None:
        with self.lock:
            self.claimed.discard(key)

    def renew_lock(self) -> None:
        """Replace the lock in a forked child, where a thread that held it no longer exists to release it."""
        self.lock = RLock()

    def reset(self) -> None:
        """Forget everything except which modules have arrived, and patches that can be applied again."""
        with self.lock:
            self.claimed.clear()
            self.areas.clear()
            self.problems.clear()
            self.selection = None
            self.context = None
            self.telemetry = None


STATE = HookState()
atexit.register(STATE.made.clear)  # as the engine's records
os.register_at_fork(after_in_child=STATE.renew_lock)


def is_complete(module: ModuleType | None) -> bool:
    """Whether a module of sys.modules has been executed completely."""
    return module is not None and not getattr(getattr(module, "__spec__", None), "_initializing", False)
