"""NCCL's environment variables under the names of the backend's library, while a process group is made.

The libraries read the environment of the process themselves, in C, so the variables have to be in it, and children of the process
inherit them. They are written when a group is made, because a program may set NCCL_DEBUG at any time before that, and because a
process that never makes a group must be neither changed nor warned.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

from torchada.base import settings
from torchada.base.warnings import tell_once
from torchada.redirect.owners import MISSING

if TYPE_CHECKING:
    from torchada.backends.descriptor import CollectiveVariables


def is_on(variable: str) -> bool:
    """Whether it is set to what torch's C++ takes for true."""
    return os.environ.get(variable, "").lower() in ("1", "t", "true", "y", "yes")


class MirroredVariables:
    """An owner for the engine: `bring_up_to_date` acts while it has an entry; deleting the entry removes the variables again."""

    __torchada_owner__ = True

    def __init__(self, rules: CollectiveVariables, library: str) -> None:
        self.rules, self.library = rules, library
        self._entries: dict[object, object] = {}

    def get(self, name: object) -> object:
        return self._entries.get(name, MISSING)

    def set(self, name: object, value: object) -> None:
        self._entries[name] = value

    def delete(self, name: object) -> None:
        del self._entries[name]
        self._write({})

    def bring_up_to_date(self) -> None:
        """Copy what is set for NCCL now to the library's variables. A value that the user gave to such a variable wins."""
        if not self._entries:
            return
        self._write({name: value for name, value, known in self._translated() if known})
        unknown = sorted(name for name, _, known in self._translated() if not known)
        if unknown:
            tell_once(f"{', '.join(unknown)} {'has' if len(unknown) == 1 else 'have'} no counterpart in {self.library}")

    def _translated(self) -> Iterator[tuple[str, str, bool]]:
        """The library's name, the value, and True for each of NCCL's variables; NCCL's own name, and False, if there is none."""
        for name, value in os.environ.items():
            own = self.rules.own_name(name)
            if own is not None:
                yield own or name, value, bool(own)

    def _write(self, wanted: dict[str, str]) -> None:
        ours = _ours()
        for name in [*ours]:
            if os.environ.get(name) != ours[name]:
                del ours[name]  # the user has set or removed it since
            elif name not in wanted:
                del ours[name], os.environ[name]
        for name, value in wanted.items():
            if name in ours or name not in os.environ:
                os.environ[name] = ours[name] = value
        settings.COLLECTIVES.write(json.dumps(ours) if ours else None)


def _ours() -> dict[str, str]:
    """The values that we have set, by name; a child process inherits the record and knows by it which are not the user's."""
    try:
        values = json.loads(settings.COLLECTIVES.read() or "{}")
    except (ValueError, RecursionError):
        return {}
    return values if isinstance(values, dict) else {}
