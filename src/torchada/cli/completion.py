"""Completion of command lines in a shell, by the package argcomplete if it is installed."""

from __future__ import annotations

import argparse

from torchada.base import settings


def complete(parser: argparse.ArgumentParser) -> None:
    """Answer a shell that asks for completions, and end the process; otherwise return at once."""
    if not settings.of_others("_ARGCOMPLETE"):
        return
    try:
        import argcomplete
    except ImportError:
        return
    argcomplete.autocomplete(parser)
