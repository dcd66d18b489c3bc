"""The error of a build that cannot go on, and notices of one that can."""

from __future__ import annotations

import sys
from collections.abc import Iterable


class BuildError(RuntimeError):
    """An extension cannot be built as requested; the message names the file or flag, and what to do."""


_said: set[str] = set()


def say(messages: Iterable[str]) -> None:
    """Print each message on stderr, once in this process."""
    for message in messages:
        if message not in _said:
            _said.add(message)
            print(f"torchada: {message}", file=sys.stderr, flush=True)
