"""The error that a user sees when the C++ part is not available."""

from __future__ import annotations


class MusasimBuildError(ImportError):
    """The C++ part could not be compiled or loaded. The message says what to do about it."""
