"""What a build that cannot go on says, and what one that can has to mention."""

from __future__ import annotations

import sys
from collections.abc import Iterable


class BuildError(RuntimeError):
    """An extension cannot be built as it is asked for; the message names the file or flag, and what to do."""


_said: set[str] = set()


def say(messages: Iterable[str]) -> None:
    """A line on stderr for each message that has not been said yet in this process."""
    for message in messages:
        if message not in _said:
            _said.add(message)
            print(f"torchada: {message}", file=sys.stderr, flush=True)
