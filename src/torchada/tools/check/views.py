"""Who sees CUDA among the packages and scripts of a project: by name, then by whether their sources mention MUSA.

Packages are those of a running program: a folder below one belongs to it without an `__init__.py` of its own, and so does one that
is checked by itself.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from torchada.tools.check import collect
from torchada.views import sources
from torchada.views.by_name import known


class View(NamedTuple):
    """What a package or script of the project sees, and why."""

    package: str
    sees_cuda: bool
    why: str


class Views:
    """The views of one project's files. `own` are the names of its packages."""

    def __init__(self, files: Sequence[collect.File]) -> None:
        folders = {os.path.dirname(file.file) for file in files if os.path.basename(file.file) == "__init__.py"}
        self.own = frozenset(map(os.path.basename, folders))
        self._decided: dict[str, View] = {}
        self._are_packages: dict[str, bool] = {}

    @property
    def decided(self) -> Iterable[View]:
        """The views that were asked for."""
        return self._decided.values()

    def of(self, file: collect.File) -> View:
        """The view of the package that the file belongs to, or of the file itself."""
        place = self._top(file)
        if place not in self._decided:
            self._decided[place] = _decide(place, file)
        return self._decided[place]

    def _top(self, file: collect.File) -> str:
        """The folder of the top-level package that a file belongs to; the file itself where it is a script."""
        top, folder = file.file, os.path.dirname(file.file)
        while os.path.basename(folder).isidentifier():
            if self._is_package(folder):
                top = folder
            above = os.path.dirname(folder)
            if top != folder and not folder.startswith(file.root + os.sep) and not self._is_package(above):
                break
            folder = above
        return top

    def _is_package(self, folder: str) -> bool:
        if folder not in self._are_packages:
            self._are_packages[folder] = os.path.isfile(os.path.join(folder, "__init__.py"))
        return self._are_packages[folder]


def _decide(place: str, file: collect.File) -> View:
    shown = _shown(place, place, file)
    # The folder of a namespace package (xformers/core) has no file by which it could be told from any other.
    names = [os.path.basename(place), os.path.basename(os.path.dirname(place))] if place != file.file else []
    by_name = next(filter(None, map(known, names)), None)
    if by_name is not None:
        return View(shown, *by_name)
    mention = sources.find([place])
    if mention is not None:
        return View(shown, False, f"{_shown(mention.file, place, file)}:{mention.line} says {mention.word}")
    return View(shown, True, "it does not mention MUSA")


def _shown(path: str, package: str, file: collect.File) -> str:
    """A path as the findings have it; from the package's folder on for one that is not below the root."""
    prefix = file.path[: len(file.path) - len(os.path.relpath(file.file, file.root))]
    if path.startswith(file.root + os.sep):
        return prefix + os.path.relpath(path, file.root)
    return os.path.relpath(path, os.path.dirname(package))
