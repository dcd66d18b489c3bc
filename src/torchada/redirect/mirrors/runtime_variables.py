"""CUDA's environment variables for the runtime and its libraries, under the names that the backend's read.

They are read in C: by the driver when it starts, by libraries when they are first used. So what is set is copied before that, and
follows what the program sets later. A value that the user gave to the backend's own variable wins.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from torchada.base import settings
from torchada.base.warnings import tell_once
from torchada.redirect.mirrors import in_os

if TYPE_CHECKING:
    from torchada.backends.parts import RuntimeVariables
    from torchada.redirect.mirrors.visible_devices import Text


class RuntimeMirror:
    """Copies CUDA's variables to the backend's, those that have a counterpart; the others are named once, in a warning."""

    def __init__(self, variables: RuntimeVariables) -> None:
        self._variables = variables

    def bring_up_to_date(self) -> None:
        """Copy what is set now, and remove our copies of what is not set any more."""
        self._follow(os.environ)

    def take_back(self) -> None:
        """Remove our copies."""
        self._write({})

    def putenv(self, original: Callable[[Text, Text], None]) -> Callable[[Text, Text], None]:
        """os.putenv that follows CUDA's variables."""

        def putenv(key: Text, value: Text) -> None:
            original(key, value)
            if self._is_ours(name := os.fsdecode(key)):
                self._follow({**os.environ, name: os.fsdecode(value)})

        return in_os(putenv)

    def unsetenv(self, original: Callable[[Text], None]) -> Callable[[Text], None]:
        """os.unsetenv that follows CUDA's variables."""

        def unsetenv(key: Text) -> None:
            original(key)
            if self._is_ours(name := os.fsdecode(key)):
                self._follow({other: value for other, value in os.environ.items() if other != name})

        return in_os(unsetenv)

    def _is_ours(self, name: str) -> bool:
        return name in self._variables.renames or name in self._variables.absent

    def _follow(self, environ: Mapping[str, str]) -> None:
        self._write({own: environ[name] for name, own in self._variables.renames.items() if name in environ})
        for name in self._variables.absent:
            if name in environ:
                tell_once(f"{name} has no counterpart here, and no effect")

    def _write(self, wanted: Mapping[str, str]) -> None:
        ours = _ours()
        if not wanted and not ours:
            return
        theirs = {name for name in self._variables.renames.values() if os.environ.get(name) != ours.get(name)}
        for name in ours.keys() - wanted.keys() - theirs:
            os.environ.pop(name, None)
        copied = {name: value for name, value in wanted.items() if name not in theirs or name not in os.environ}
        os.environ.update({name: value for name, value in copied.items() if os.environ.get(name) != value})
        settings.RUNTIME.write(json.dumps(copied) if copied else None)


def _ours() -> dict[str, str]:
    """The values that we have written, in this process or in the one that started it."""
    try:
        values = json.loads(settings.RUNTIME.read() or "{}")
    except ValueError:
        return {}
    return values if isinstance(values, dict) else {}
