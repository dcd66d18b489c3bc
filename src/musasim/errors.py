"""The errors that a user sees when the simulator cannot be what was asked for."""

from __future__ import annotations


class MusasimBuildError(ImportError):
    """The C++ part could not be compiled or loaded. The message says what to do about it."""


class MusasimFaceError(ImportError):
    """MUSASIM_FACE names a vendor whose names the simulator does not have."""


class MusasimReleaseError(ImportError):
    """MUSASIM_RELEASE names a release of torch_musa that the simulator does not have."""
