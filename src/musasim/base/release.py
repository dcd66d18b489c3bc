"""The release of torch_musa that the simulator stands for: what MUSASIM_RELEASE names, or what belongs to the installed torch.

What differs between releases is a table, `{release: what it has, or what it changes}`, which lies where the difference is and is
asked by the functions here: nothing else compares releases. What is in no table is as in 2.7.1.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping
from typing import TypeVar

from musasim.errors import MusasimReleaseError

T = TypeVar("T")

VARIABLE = "MUSASIM_RELEASE"
#: What MUSASIM_RELEASE may be, and the version that it stands for: the newest of its line whose sources are public. Oldest first.
VERSIONS = {"2.7.1": "2.7.1", "2.9.1": "2.9.1.post1", "2.11.0": "2.11.0.post2"}
#: The oldest torch that a release can be imported on: that for which the vendor built it.
OLDEST_TORCH = {"2.7.1": "2.7.1", "2.9.1": "2.9.1", "2.11.0": "2.11.0"}


def _number(name: str) -> tuple[int, int, int]:
    major, minor, patch = (int(part) for part in name.split("."))
    return major, minor, patch


RELEASES = {name: _number(name) for name in VERSIONS}


def asked() -> str | None:
    """The release that MUSASIM_RELEASE names, or None. Raises MusasimReleaseError for one that is not in VERSIONS."""
    asked_name = os.environ.get(VARIABLE) or None
    if asked_name is not None and asked_name not in VERSIONS:
        *others, last = VERSIONS
        raise MusasimReleaseError(f"{VARIABLE}={asked_name!r}: expected {', '.join(others)} or {last}")
    return asked_name


def name() -> str:
    """The chosen release: the one that is asked for, or that belongs to the installed torch."""
    return asked() or belonging_to(_torch_version())


def version() -> str:
    """What torch_musa.__version__ is, or will be once it is imported."""
    return f"{VERSIONS[name()]}+musasim"


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
    """The newest release that takes this version of torch; the oldest where none does, whose import then says so."""
    taking = [name for name in VERSIONS if takes(name, torch_version)]
    return taking[-1] if taking else next(iter(VERSIONS))


def takes(name: str, torch_version: str) -> bool:
    """Whether the release can be imported on this version of torch."""
    numbers = re.match(r"(\d+)\.(\d+)(?:\.(\d+))?", torch_version)
    if numbers is None:
        raise ValueError(f"expected a version of torch such as 2.9.1, but got {torch_version!r}")
    return tuple(int(number or 0) for number in numbers.groups()) >= _number(OLDEST_TORCH[name])


def _torch_version() -> str:
    """Of the torch that is imported, or that would be."""
    stated = getattr(sys.modules.get("torch"), "__version__", None)
    if stated is not None:  # it has none yet while it is being imported
        return str(stated)
    from importlib.metadata import version

    return version("torch")
