"""Warnings to the user: one per cause, and none that breaks the program it appears in."""

from __future__ import annotations

import sys
import warnings
from types import FrameType

from torchada.base.adapters import ADAPTERS

_said: dict[str, None] = {}
# A warning names the line of the program that led to it, not a line of torchada, torch, its adapters or the import system.
_BETWEEN = sys.stdlib_module_names | {"torchada", "_torchada_startup", "sitecustomize", "torch", *ADAPTERS.values()}
_NOWHERE = "<torchada>"  # not a file, so that no line of it is shown


class TorchadaWarning(RuntimeWarning):
    """A part of torchada is not in force; the message names the part, the reason and the way out."""


class TorchadaError(RuntimeError):
    """Raised in place of a warning when TORCHADA_STRICT=1."""


def warn_once(message: str, cause: Exception | None = None) -> None:
    """Warn, once per message. Where warnings are errors, one line on stderr instead: the user's import must go on.

    Under TORCHADA_STRICT=1, TorchadaError is raised instead, each time.
    """
    from torchada.base import settings

    if settings.read().strict:
        raise TorchadaError(f"torchada: {message}") from cause
    tell_once(message)


def tell_once(message: str) -> None:
    """Warn of what is no fault, once per message, under TORCHADA_STRICT=1 too. Where warnings are errors, one line on stderr."""
    if message in _said:
        return
    _said[message] = None
    try:
        warn(f"torchada: {message}", TorchadaWarning)
    except TorchadaWarning:
        if sys.stderr is not None:
            sys.stderr.write(f"torchada: {message}\n")


def warn(text: str, category: type[Warning] = UserWarning) -> None:
    """Warn at the line of the program that led here."""
    frame = _program_frame(sys._getframe(1))
    if frame is None:
        warnings.warn_explicit(text, category, _NOWHERE, 1, "torchada")
        return
    names = frame.f_globals
    registry = names.setdefault("__warningregistry__", {})
    module = names.get("__name__") or "<unknown>"
    warnings.warn_explicit(text, category, frame.f_code.co_filename, frame.f_lineno, module, registry)


def said() -> list[str]:
    """All warnings of this process, in order."""
    return list(_said)


def _program_frame(frame: FrameType | None) -> FrameType | None:
    """The innermost frame from `frame` on that is the program's; None where there is none (at start-up, in our own commands)."""
    while frame is not None and _package(frame) in _BETWEEN:
        frame = frame.f_back
    return frame


def _package(frame: FrameType) -> str:
    names = frame.f_globals
    # __package__ first: under `python -m` the name is __main__.
    name: str = names.get("__package__") or names.get("__name__") or ""
    return name.partition(".")[0]
