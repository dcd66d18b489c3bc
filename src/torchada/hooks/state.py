"""Everything the hook knows, in one object with one lock; `status` reads it, `disable` resets it."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from threading import RLock
from types import ModuleType
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from importlib.machinery import ModuleSpec

    from torchada.backends.select import Selection
    from torchada.hooks.area import Area
    from torchada.redirect.context import Context
    from torchada.telemetry.process import Telemetry


class Finder(Protocol):
    """What hooks use of the finder, which start-up hands to them: `watched` are the names that it notices."""

    watched: dict[str, bool]

    def ask_remaining(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        """What the finders after this one answer."""


class HookState:
    """`modules` holds the watched modules that have arrived, `executing` those under way; areas and problems stay in order."""

    finder: Finder  # there from the first module that is followed on

    def __init__(self) -> None:
        self.lock = RLock()
        self.modules: set[str] = set()
        self.executing: set[str] = set()
        self.claimed: set[str] = set()
        self.areas: dict[str, Area] = {}
        self.problems: list[str] = []
        self.selection: Selection | None = None
        self.context: Context | None = None
        self.telemetry: Telemetry | None = None  # where calls are recorded
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
        """Forget everything except which modules have arrived."""
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
    """Whether a module of sys.modules has been executed completely."""
    return module is not None and not getattr(getattr(module, "__spec__", None), "_initializing", False)
