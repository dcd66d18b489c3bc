"""CUDA_VISIBLE_DEVICES and the backend's variable of that kind: two names of one setting."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable
from typing import NamedTuple, TypeAlias, TypeVar

from torchada.base import settings
from torchada.redirect.mirrors import in_os

Text: TypeAlias = str | bytes
T = TypeVar("T")
SOURCE = "CUDA_VISIBLE_DEVICES"
_IDENTITY = r"(GPU-|MIG-)|[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-"


class _Copy(NamedTuple):
    """What torchada has written: to which variable, which value, and what the variable had been (None: not set)."""

    name: str
    value: str
    was: str | None


class Mirror:
    """CUDA_VISIBLE_DEVICES and `variable` have the same value: what is set later wins, as where there is one variable alone.

    At the start of a process nobody knows which was set later. A value that this process inherited as our copy is no one's
    setting, and of two settings that differ `variable` wins.
    """

    def __init__(self, variable: str) -> None:
        self.variable = variable
        self._is_writing = False

    def bring_up_to_date(self) -> None:
        """Decide which variable counts, and copy it to the other; remove our copy where neither is set any more."""
        ours, environ = _ours(), os.environ
        names = [self.variable, SOURCE]
        if ours is not None and environ.get(ours.name) != ours.value:
            original = self._other(ours.name)
            if ours.name in environ and environ.get(original) == ours.value:
                names = [ours.name, original]  # a launcher has set the one that was our copy
            _write_mark(None)
        elif ours is not None:
            names = [self._other(ours.name)]
        leader = next((name for name in names if name in environ), None)
        if leader is None:
            self.take_back()
        else:
            self._follow(leader, environ[leader])

    def take_back(self) -> None:
        """Give back what we have written, unless somebody has written there since."""
        ours = _ours()
        if ours is not None and os.environ.get(ours.name) == ours.value:
            self._write(ours.name, ours.was)
        _write_mark(None)

    def putenv(self, original: Callable[[Text, Text], None]) -> Callable[[Text, Text], None]:
        """os.putenv that keeps the two variables in step."""

        def putenv(key: Text, value: Text) -> None:
            original(key, value)
            if not self._is_writing and os.fsdecode(key) in (SOURCE, self.variable):
                self._follow(os.fsdecode(key), os.fsdecode(value))

        return in_os(putenv)

    def unsetenv(self, original: Callable[[Text], None]) -> Callable[[Text], None]:
        """os.unsetenv that removes our copy together with what it is a copy of."""

        def unsetenv(key: Text) -> None:
            original(key)
            if not self._is_writing and os.fsdecode(key) in (SOURCE, self.variable):
                ours = _ours()
                if ours is not None and os.fsdecode(key) == self._other(ours.name):
                    self.take_back()

        return in_os(unsetenv)

    def _other(self, name: str) -> str:
        return self.variable if name == SOURCE else SOURCE

    def _follow(self, leader: str, value: str) -> None:
        follower, ours = self._other(leader), _ours()
        before = os.environ.get(follower)
        if before == value:
            return
        was = ours.was if ours is not None and ours.name == follower and before == ours.value else before
        self._write(follower, value)
        _write_mark(_Copy(follower, value, was))

    def _write(self, name: str, value: str | None) -> None:
        # os.environ calls our putenv, which must not follow what we write ourselves.
        self._is_writing = True
        try:
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
        finally:
            self._is_writing = False


def _ours() -> _Copy | None:
    """Our copy, of this process or of the one that started it."""
    try:
        return _Copy(**json.loads(settings.VISIBLE_DEVICES.read() or ""))
    except (ValueError, TypeError, RecursionError):
        return None


def _write_mark(copy: _Copy | None) -> None:
    settings.VISIBLE_DEVICES.write(None if copy is None else json.dumps(copy._asdict()))


def visible_devices(variable: str) -> list[int] | list[str] | None:
    """The devices that `variable` leaves visible, in the form of torch.cuda._parse_visible_devices; None if it is not set.

    Identities unchanged, or numbers as torch reads them: an entry counts as the number it begins with,
    a negative one or one without a number ends the list, and a repeated one hides every device.
    """
    value = os.environ.get(variable)
    if value is None:
        return None
    entries = [entry.strip() for entry in value.split(",")]
    identity = re.match(_IDENTITY, entries[0])
    if identity:
        prefix = identity[1] or ""
        return _until_none(
            [entry if re.match(_IDENTITY, entry) and entry.startswith(prefix) else None for entry in entries]
        )
    return _until_none([_ordinal(entry) for entry in entries])


def _ordinal(entry: str) -> int | None:
    match = re.match(r"[+-]?\d+", entry)
    return int(match[0]) if match and int(match[0]) >= 0 else None


def _until_none(entries: list[T | None]) -> list[T]:
    """The entries before the first None; none at all if one of them is repeated."""
    kept: list[T] = []
    for entry in entries:
        if entry is None:
            break
        if entry in kept:
            return []
        kept.append(entry)
    return kept
