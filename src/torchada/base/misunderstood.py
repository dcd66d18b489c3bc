"""Warnings of what is not understood in the environment."""

from __future__ import annotations

from torchada.base.settings import Settings, variable
from torchada.base.warnings import warn_once


def warn_about(settings: Settings) -> None:
    """Warn, once, of what was not understood in the environment."""
    for entry in settings.not_understood:
        known = variable(entry.partition("=")[0])
        if known is not None:
            warn_once(f"{entry} is not understood and ignored; expected {known.kind.expected}")
    for name in settings.unknown:
        warn_once(f"{name} is not a variable torchada knows; see `torchada status`")
