"""Modules that have been named after the folders they lie in, as pytest's importlib mode does, and not after what they belong to.

Run from a folder above a project, it calls `project/tests/test_a.py` `project.tests.test_a`, and makes packages of the folders.
Such a package has everything below its folder, other projects too, and may be called like a package of somebody else's.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator

from torchada.views import projects
from torchada.views.asking import Globals

_INIT = "__init__.py"


def is_given(name: str, namespace: Globals, home: Globals, sources: tuple[str, ...]) -> bool:
    """Whether a module in a file has such a name. `home` has the names of its top-level package, `sources` are the package's."""
    if home is namespace:
        return False
    if not sources:  # an empty module of that name, which pytest made before 8.1
        return True
    if not any(_is_below(namespace["__file__"], place) for place in sources):
        return place_of(name, namespace) is not None
    if isinstance(home.get("__file__"), str):
        return False
    return not _can_be_imported(sources) or _holds_a_project(namespace["__file__"], sources)


def by_path(file: str) -> tuple[str, str]:
    """The name that a module has where it is imported from the folder of its project, and the package or the file it belongs to.

    The package is the outermost folder that has an `__init__.py`, which is what pytest's other modes import it from.
    """
    place, parts = file, [os.path.splitext(os.path.basename(file))[0]]
    if os.path.basename(file) == _INIT:
        parts.clear()
    for folder in _above(file):
        if not os.path.isfile(os.path.join(folder, _INIT)):
            break
        place = folder
        parts.insert(0, os.path.basename(folder))
    return ".".join(parts), place


def place_of(name: str, namespace: Globals) -> str | None:
    """The folder of the top-level package that `name` begins with, or its file without the ending, if the path ends in `name`."""
    package, *inner = name.split(".")
    file = namespace["__file__"]
    place: str = os.path.dirname(file) if "__path__" in namespace else os.path.splitext(file)[0]
    for part in reversed(inner):
        if os.path.basename(place) != part:
            return None
        place = os.path.dirname(place)
    return place if os.path.basename(place) == package else None


def _above(place: str) -> Iterator[str]:
    """The folders that a file or folder lies in, from the innermost on."""
    while (parent := os.path.dirname(place)) != place:
        yield parent
        place = parent


def _is_below(file: str, place: str) -> bool:
    """Whether a file lies in a folder, or is the file `place`."""
    if file.startswith(place + os.sep) or file == place:
        return True
    true_file, true_place = os.path.realpath(file), os.path.realpath(place)
    return true_file.startswith(true_place + os.sep) or true_file == true_place


def _can_be_imported(folders: tuple[str, ...]) -> bool:
    """Whether one of the folders of a namespace package is where an import finds it. What is no folder was named by a finder."""
    searched = {os.path.realpath(entry) for entry in sys.path if isinstance(entry, str)}
    return any(not os.path.isdir(place) or os.path.realpath(os.path.dirname(place)) in searched for place in folders)


def _holds_a_project(file: str, folders: tuple[str, ...]) -> bool:
    """Whether one of the folders of a namespace package is, or has below it, the folder of a project that a file belongs to."""
    _, place = by_path(file)
    between = (each for each in _above(place) if any(_is_below(each, folder) for folder in folders))
    return any(map(projects.is_root, between))
