"""What a user sees when the C++ part cannot be had."""

from __future__ import annotations


class MusasimBuildError(ImportError):
    """The C++ part could not be compiled or loaded. The message says what to do about it."""
