"""How torchada speaks to the user: one warning per cause, which never breaks the program it runs in."""

from __future__ import annotations

import sys
import warnings

_said: dict[str, None] = {}


class TorchadaWarning(RuntimeWarning):
    """Something of torchada is not in force; the message names it, the reason and the way out."""


class TorchadaError(RuntimeError):
    """Raised in place of a warning when TORCHADA_STRICT=1."""


def warn_once(message: str) -> None:
    """Warn, once per message. Where warnings are errors, one line on stderr instead: the user's import must go on."""
    if message in _said:
        return
    _said[message] = None
    try:
        warnings.warn(f"torchada: {message}", TorchadaWarning, stacklevel=2)
    except TorchadaWarning:
        if sys.stderr is not None:
            sys.stderr.write(f"torchada: {message}\n")


def said() -> list[str]:
    """Everything warned of in this process, in order."""
    return list(_said)
