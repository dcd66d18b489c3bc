"""How ``import torch_musa``, or the adapter of the face that MUSASIM_FACE names, finds the simulation."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from musasim.base import release
from musasim.vendors.face import FaceLoader, chosen

if TYPE_CHECKING:
    from collections.abc import Sequence
    from importlib.machinery import ModuleSpec
    from types import ModuleType

_PACKAGE = "torch_musa"
_FOLDER = Path(__file__).parent / _PACKAGE


def find_spec(name: str) -> ModuleSpec | None:
    """Return the spec of the simulated adapter, and None for every other name (submodules are found through it).

    Raises MusasimFaceError where MUSASIM_FACE names no face, MusasimReleaseError where MUSASIM_RELEASE names no release.
    """
    face = chosen()
    if name != (face.package if face is not None else _PACKAGE):
        return None
    release.asked()  # an error comes before the import changes anything
    path = _FOLDER / "__init__.py"
    loader = FaceLoader(name, str(path), face) if face is not None else None
    return importlib.util.spec_from_file_location(name, path, loader=loader, submodule_search_locations=[str(_FOLDER)])


class _Finder:
    enabled = False

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        return find_spec(fullname) if self.enabled else None


_FINDER = _Finder()


def install() -> None:
    """Put the finder last, so that a real torch_musa wins. Calling it again changes nothing."""
    _FINDER.enabled = True
    if _FINDER not in sys.meta_path:
        sys.meta_path.append(_FINDER)


def uninstall() -> None:
    """Switch the finder off. A torch_musa that has been imported stays imported.

    It stays on sys.meta_path: an import in another thread, which is walking over that list, would skip the finder after it.
    """
    _FINDER.enabled = False
