"""The process's environment as an owner of patches, for variables of other packages that a patch sets."""

from __future__ import annotations

import os

from torchada.redirect.owners import MISSING


class Variables:
    """Its entries are environment variables, by name. Child processes inherit what is set."""

    __torchada_owner__ = True

    def __init__(self) -> None:
        self._written: dict[str, str] = {}

    def get(self, name: str) -> object:
        """The value; the very object that was written if nobody has changed it, because the engine compares by identity."""
        value, written = os.environ.get(name, MISSING), self._written.get(name)
        return written if value == written else value

    def set(self, name: str, value: str) -> None:
        os.environ[name] = self._written[name] = value

    def delete(self, name: str) -> None:
        os.environ.pop(name, None)
