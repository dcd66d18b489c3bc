"""Faults: status shows each, one warning reports it, and TORCHADA_STRICT=1 raises it."""

from __future__ import annotations

import sys
from typing import NoReturn

from torchada.base.faults import pass_on_interrupt
from torchada.base.warnings import TorchadaError, warn_once
from torchada.hooks.state import STATE


def report(what: str, error: Exception) -> None:
    """Record that `what` failed with `error`; an interrupt that arrived as an error is raised again."""
    pass_on_interrupt(error)
    if isinstance(error, TorchadaError):  # a warning of ours, under TORCHADA_STRICT=1
        raise error
    message = f"{what}: {type(error).__name__}: {error}"
    STATE.problems.append(message)
    warn_once(message, error)


def end(message: str) -> NoReturn:
    """End the program with a line on stderr and exit code 2, as commands of ours end where something failed."""
    if sys.stderr is not None:
        sys.stderr.write(f"torchada: {message}\n")
    raise SystemExit(2)
