"""Apply the patches of an area all or none, and put everything back exactly. Idempotency and undo exist here and nowhere else."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from threading import RLock
from typing import Any, Literal, NamedTuple

from torchada.base.ending import as_modules_go
from torchada.redirect.owners import MISSING, Owner, owner_of


class Skip(Exception):
    """Raised by an area's `patches` when it does not concern this torch or this process; the text is the reason."""


# How an API of CUDA is answered: by the backend's own object; by the backend, called in its own way; by torchada, because the
# backend has no counterpart; or by a clear error.
Kind = Literal["same", "adapted", "emulated", "unsupported"]


class Patch(NamedTuple):
    """One entry to change: `vars(owner)[name]`, or `owner[name]` for a dictionary, becomes `replacement`,
    or is taken away where that is MISSING.

    `api` is what a program calls, in CUDA's terms, as reports show it; None for plumbing behind an API. An api that shows an
    argument of CUDA's, as in `torch.zeros(device="cuda")`, counts as used when a call has that argument; any other, at each call.
    `to` is what answers it where that is not the same API on the backend's device.

    `since` and `until` say which versions a workaround is for ("torch 2.8": from that version on, or up to it; for a library, from
    the version that it was tried on). The area decides, status names them, and a test finds what is in force for others. `note`
    says what the patch is for where `api` does not. `refresh` is
    called after the change and after its undo, for caches computed from the entry.
    """

    owner: Any
    name: Any
    replacement: Any
    api: str | None
    kind: Kind = "adapted"
    to: str = ""
    since: str = ""
    until: str = ""
    note: str = ""
    refresh: Callable[[], object] | None = None

    @property
    def text(self) -> str:
        """What the patch is for, in a few words."""
        return self.note or self.api or str(self.name)

    @property
    def versions(self) -> str:
        """The versions that a workaround is bound to; empty for any other patch."""
        return ", ".join(filter(None, (self.since and f"since {self.since}", self.until and f"until {self.until}")))


class Applied:
    """A patch in force, with the raw entry that it displaced (or MISSING)."""

    __slots__ = ("before", "owner", "patch")

    def __init__(self, patch: Patch, owner: Owner, before: Any) -> None:
        self.patch, self.owner, self.before = patch, owner, before

    @property
    def is_in_force(self) -> bool:
        return self.owner.get(self.patch.name) is self.patch.replacement

    @property
    def entry(self) -> tuple[int, Any]:
        """The entry that the patch changes; the patch keeps its owner alive, so no other owner can have that identity."""
        return id(self.patch.owner), self.patch.name


class Engine:
    """Holds what is applied, by area and by entry, in order of application."""

    def __init__(self) -> None:
        self._lock = RLock()
        self._applied: dict[str, list[Applied]] = {}
        self._at: dict[tuple[int, Any], list[Applied]] = {}
        self._undone: dict[str, list[Applied]] = {}

    def apply(self, area: str, patches: Sequence[Patch]) -> None:
        """Apply all of `patches`. If one raises, the others are undone and the error is raised again."""
        with self._lock:
            if area in self._applied:
                return
            done = self._applied[area] = []
            try:
                owners = {
                    key: owner_of(thing) for key, thing in {id(patch.owner): patch.owner for patch in patches}.items()
                }
                for patch in patches:
                    self._put(patch, owners[id(patch.owner)], done)
                _refresh(done)
            except BaseException:
                self.revert(area)
                raise

    def revert(self, area: str) -> None:
        """Undo one area, last patch first. An area that is not applied is left as it is."""
        with self._lock:
            done = self._applied.get(area, [])
            undone = list(done)
            while done:
                self._undo(done.pop())
            if self._applied.pop(area, None) is not None:
                self._undone[area] = undone
            _refresh(undone)

    def revert_all(self) -> None:
        """Undo every area, last first."""
        with self._lock:
            for area in reversed(list(self._applied)):
                self.revert(area)

    def fits_again(self, area: str) -> bool:
        """Whether an area is undone and its entries are still those it displaced, so that the same patches can be applied again."""
        with self._lock:
            undone = self._undone.get(area)
            return undone is not None and all(
                applied.owner.get(applied.patch.name) is applied.before for applied in undone
            )

    def applied(self) -> dict[str, list[Applied]]:
        """What is in force, by area (a copy)."""
        with self._lock:
            return {area: list(done) for area, done in self._applied.items()}

    def forget(self) -> None:
        """Drop the records at the end of the process, after its exit handlers, where what is in force stays in force.

        They hold everything that was displaced. The interpreter would have to find that by its garbage collector once all modules
        are gone, which takes some 40 ms of processor time; without the records, it is freed with the modules.
        """
        with self._lock:
            for records in (self._applied, self._at, self._undone):
                records.clear()

    def renew_lock(self) -> None:
        """Replace the lock in a forked child, where a thread that held it no longer exists to release it."""
        self._lock = RLock()

    def _put(self, patch: Patch, owner: Owner, done: list[Applied]) -> None:
        record = Applied(patch, owner, owner.get(patch.name))
        # Recorded first: an interrupt in between must not leave a change that is never undone.
        done.append(record)
        self._at.setdefault(record.entry, []).append(record)
        _write(owner, patch.name, patch.replacement)

    def _undo(self, record: Applied) -> None:
        others = [other for other in self._at.pop(record.entry, ()) if other is not record]
        if others:
            self._at[record.entry] = others
        above = next((other for other in others if other.before is record.patch.replacement), None)
        if above is not None:  # areas are not undone in the order of application
            above.before = record.before
        elif not record.is_in_force:
            pass  # other code has replaced our patch since, and has to undo that itself
        else:
            _write(record.owner, record.patch.name, record.before)


def _write(owner: Owner, name: Any, value: Any) -> None:
    if value is not MISSING:
        owner.set(name, value)
    elif owner.get(name) is not MISSING:
        owner.delete(name)


def _refresh(done: list[Applied]) -> None:
    for refresh in dict.fromkeys(record.patch.refresh for record in done if record.patch.refresh):
        refresh()


ENGINE = Engine()
as_modules_go(ENGINE.forget)
os.register_at_fork(after_in_child=ENGINE.renew_lock)
