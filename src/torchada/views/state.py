"""What a process knows of who sees CUDA: the one place that keeps it, and the one way in that changes what holds.

`choose` (what a program says) and `begin` (which rules are in force) let everything be decided anew. A thread that is deciding
meanwhile gets the answer to its own question, and the answer is dropped: `keep` takes answers of the decider in force alone.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from threading import RLock
from typing import Protocol

from torchada.views.asking import Globals
from torchada.views.decision import Decision

VIEWS = ("cuda", "musa")


class Decider(Protocol):
    """What decides for modules that are not in the table: `torchada.views.decider`, which is loaded at the first question."""

    decisions: dict[str, Decision]

    def view_of(self, namespace: Globals) -> bool: ...

    def is_told_cuda(self, namespace: Globals) -> bool: ...


class State:
    """`table` answers by `key_of(globals)` for modules that have asked before; it is always the same dictionary, because C code
    holds it. `chosen` is what `torchada.set_view` has said, "cuda" or "musa" by the name of a top-level package."""

    def __init__(self) -> None:
        self.table: dict[str, bool] = {}
        self.chosen: dict[str, str] = {}
        self.decider: Decider | None = None
        self._make: Callable[[State], Decider] | None = None
        self._lock = RLock()

    def begin(self, make: Callable[[State], Decider]) -> None:
        """Let what `make` returns decide from now on."""
        with self._lock:
            self._make = make
            self._forget()

    def choose(self, package: str, view: str | None) -> None:
        """Give `package` a view, or leave the choice to the rules again (None). Raises ValueError for anything else."""
        if view is not None and view not in VIEWS:
            raise ValueError(f"set_view({package!r}, {view!r}): expected 'cuda', 'musa' or None as the view")
        if not isinstance(package, str) or not package or "." in package:
            raise ValueError(
                f"set_view({package!r}, {view!r}): expected the name of a top-level package, such as 'kornia'"
            )
        with self._lock:
            if view is None:
                self.chosen.pop(package, None)
            else:
                self.chosen[package] = view
            self._forget()

    def decisive(self) -> Decider:
        """What decides, made at the first question."""
        decider = self.decider
        if decider is None:
            assert self._make is not None
            made = self._make(self)  # not under the lock: it imports modules
            with self._lock:
                decider = self.decider = self.decider or made
        return decider

    def keep(self, decider: Decider, key: str, answer: bool) -> None:
        """Remember an answer of `decider`, unless another one is in force by now."""
        with self._lock:
            if decider is self.decider:
                self.table[key] = answer

    def _forget(self) -> None:
        self.decider = None
        self.table.clear()

    def renew_lock(self) -> None:
        """For a forked child: another thread of its parent may have held the lock."""
        self._lock = RLock()


# Patches that are applied again after `disable` answer by it too, so it is one for the process.
PROCESS = State()
os.register_at_fork(after_in_child=PROCESS.renew_lock)
