"""The project that a folder of tests or examples belongs to: its packages are used there, and their answers compared."""

from __future__ import annotations

import os
from collections.abc import Iterator

# Folders of a project that hold programs which use its packages.
_FOLDERS = frozenset({"tests", "test", "testing", "examples", "example", "benchmarks", "benchmark"})
_ROOT = ("pyproject.toml", "setup.py", "setup.cfg")
# Where a project keeps its packages.
_PLACES = ("", "src", "python")


def root_of(place: str) -> str | None:
    """The project in whose folder of tests or examples the file or folder `place` lies; None where it lies in none."""
    folder = os.path.abspath(place)
    while (parent := os.path.dirname(folder)) != folder:
        if os.path.basename(folder) in _FOLDERS and is_root(parent):
            return parent
        folder = parent
    return None


def is_root(folder: str) -> bool:
    """Whether a folder is that of a project."""
    return any(os.path.isfile(os.path.join(folder, name)) for name in _ROOT)


def packages(root: str) -> Iterator[tuple[str, str]]:
    """The packages of a project, each with its folder, in the order of their names."""
    for place in _PLACES:
        folder = os.path.join(root, place)
        for name in sorted(os.listdir(folder)) if os.path.isdir(folder) else ():
            if name not in _FOLDERS and os.path.isfile(os.path.join(folder, name, "__init__.py")):
                yield name, os.path.join(folder, name)
