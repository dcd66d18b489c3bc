"""The release of torch_musa that the simulator stands for, as MUSASIM_RELEASE asks.

What differs between releases is a table, `{release: what it has, or what it changes}`, which lies where the difference is and is
asked by the functions here: nothing else compares releases. What is in no table is as in 2.7.1.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import TypeVar

from musasim.errors import MusasimReleaseError

T = TypeVar("T")

VARIABLE = "MUSASIM_RELEASE"
DEFAULT = "2.7.1"
#: What MUSASIM_RELEASE may be, and the version that it stands for: the newest of its line whose sources are public. Oldest first.
VERSIONS = {"2.7.1": "2.7.1", "2.9.1": "2.9.1.post1", "2.11.0": "2.11.0.post2"}
#: The first version of torch that a release belongs to.
_SINCE_TORCH = {"2.7.1": (0, 0), "2.9.1": (2, 9), "2.11.0": (2, 11)}


def _number(name: str) -> tuple[int, int, int]:
    major, minor, patch = (int(part) for part in name.split("."))
    return major, minor, patch


RELEASES = {name: _number(name) for name in VERSIONS}


def name() -> str:
    """The chosen release. Raises MusasimReleaseError for one that is not in VERSIONS."""
    chosen_name = os.environ.get(VARIABLE) or DEFAULT
    if chosen_name not in VERSIONS:
        *others, last = VERSIONS
        raise MusasimReleaseError(f"{VARIABLE}={chosen_name!r}: expected {', '.join(others)} or {last}")
    return chosen_name


def chosen() -> tuple[int, int, int]:
    """The chosen release, as numbers."""
    return RELEASES[name()]


def since(release: str) -> bool:
    """Whether the chosen release is `release` or a newer one."""
    return chosen() >= RELEASES[release]


def of(table: Mapping[str, T]) -> T:
    """The entry that holds for the chosen release: its own, or that of the newest release before it."""
    return [table[release] for release in RELEASES if release in table and since(release)][-1]


def so_far(table: Mapping[str, T]) -> dict[str, T]:
    """The entries of the chosen release and of all before it, oldest first."""
    return {release: table[release] for release in RELEASES if release in table and since(release)}


def to_come(table: Mapping[str, T]) -> dict[str, T]:
    """The entries of the releases after the chosen one."""
    return {release: table[release] for release in RELEASES if release in table and not since(release)}


def belonging_to(torch_version: str) -> str:
    """The release that belongs to a version of torch: the vendor builds each for one, and the next one follows from there."""
    numbers = re.match(r"(\d+)\.(\d+)", torch_version)
    if numbers is None:
        raise ValueError(f"expected a version of torch such as 2.9.1, but got {torch_version!r}")
    major_minor = int(numbers[1]), int(numbers[2])
    return [release for release, first in _SINCE_TORCH.items() if major_minor >= first][-1]
