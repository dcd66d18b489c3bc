"""NCCL's environment variables under the names of the backend's library, while a process group is made.

The libraries read the environment of the process themselves, in C, so the variables have to stand there, and children of the
process inherit them. They are written when a group is made, because a program may set NCCL_DEBUG at any time before that, and
because a process that never makes one shall neither be changed nor warned.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from torchada import _settings
from torchada._warnings import warn_once
from torchada.redirect.owners import MISSING

if TYPE_CHECKING:
    from torchada.backends.descriptor import CollectiveVariables


class MirroredVariables:
    """An owner for the engine: while it has an entry, `bring_up_to_date` works; deleting the entry takes back what was set."""

    __torchada_owner__ = True

    def __init__(self, rules: CollectiveVariables, library: str) -> None:
        self.rules, self.library = rules, library
        self._entries: dict[Any, Any] = {}

    def get(self, name: Any) -> Any:
        return self._entries.get(name, MISSING)

    def set(self, name: Any, value: Any) -> None:
        self._entries[name] = value

    def delete(self, name: Any) -> None:
        del self._entries[name]
        self._write({})

    def bring_up_to_date(self) -> None:
        """Give the library what is set for NCCL now. A value that the user gave to the library's own variable wins."""
        if not self._entries:
            return
        self._write({name: value for name, value, known in self._translated() if known})
        unknown = sorted(name for name, _, known in self._translated() if not known)
        if unknown:
            warn_once(f"{', '.join(unknown)} {'has' if len(unknown) == 1 else 'have'} no counterpart in {self.library}")

    def _translated(self) -> Iterator[tuple[str, str, bool]]:
        """The library's name and the value of each of NCCL's variables, or NCCL's own name and False."""
        for name, value in os.environ.items():
            own = self.rules.own_name(name)
            if own is not None:
                yield own or name, value, bool(own)

    def _write(self, wanted: dict[str, str]) -> None:
        ours = _ours()
        for name in [*ours]:
            if os.environ.get(name) != ours[name]:
                del ours[name]  # the user has set it since, or removed it
            elif name not in wanted:
                del ours[name], os.environ[name]
        for name, value in wanted.items():
            if name in ours or name not in os.environ:
                os.environ[name] = ours[name] = value
        _settings.COLLECTIVES.write(json.dumps(ours) if ours else None)


def _ours() -> dict[str, str]:
    """What we have set ourselves, name by name; a child that inherits it tells by it which values are not the user's."""
    try:
        found = json.loads(_settings.COLLECTIVES.read() or "{}")
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}
