"""Warnings of what is not understood in the environment."""

from __future__ import annotations

from collections.abc import Iterator

from torchada.base.settings import Settings, variable
from torchada.base.warnings import warn_once


def lines(settings: Settings) -> Iterator[tuple[str, str]]:
    """Each entry of the environment that was not understood, as NAME='VALUE', and what was expected of it."""
    for entry in settings.not_understood:
        known = variable(entry.partition("=")[0])
        if known is not None:
            yield entry, known.kind.expected


def warn_about(settings: Settings) -> None:
    """Warn, once, of what was not understood in the environment."""
    for entry, expected in lines(settings):
        warn_once(f"{entry} is not understood and ignored; expected {expected}")
    for name in settings.unknown:
        warn_once(f"{name} is not a variable torchada knows; see `torchada status`")
