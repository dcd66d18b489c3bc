"""The release of torch_musa that the simulator stands for, as MUSASIM_RELEASE asks.

What differs between releases asks here, where it is. What does not ask is as in 2.7.1.
"""

from __future__ import annotations

import os

from musasim.errors import MusasimReleaseError

VARIABLE = "MUSASIM_RELEASE"
RELEASES = {"2.7.1": (2, 7, 1), "2.9.1": (2, 9, 1), "2.11.0": (2, 11, 0)}
DEFAULT = "2.7.1"


def chosen() -> tuple[int, int, int]:
    """The release, to be compared with others. Raises MusasimReleaseError for one that is not in RELEASES."""
    name = os.environ.get(VARIABLE) or DEFAULT
    if name not in RELEASES:
        *others, last = RELEASES
        raise MusasimReleaseError(f"{VARIABLE}={name!r}: expected {', '.join(others)} or {last}")
    return RELEASES[name]
