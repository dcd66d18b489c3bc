"""ctypes.util.find_library("cudart"): finds a library if the backend has a counterpart.

The result is CUDA's file name, because ctypes opens the library with CUDA's function names under that name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from torchada.redirect.calls import disguise
from torchada.redirect.context import Context
from torchada.redirect.engine import Patch
from torchada.redirect.library_names import NativeLibraries


def patches(context: Context) -> Iterator[Patch]:
    from ctypes import util  # not ctypes.util: the package has no such attribute yet when the area is applied

    find = _find_library(NativeLibraries(context.backend), util.find_library)
    yield Patch(util, "find_library", find, 'ctypes.util.find_library("cudart")', to="the backend's library")


def _find_library(libraries: NativeLibraries, original: Callable[..., str | None]) -> Callable[..., str | None]:
    def find_library(name: str, *args: object) -> str | None:
        library = libraries.called(name)
        if library is None:
            return original(name, *args)
        # Loaded libraries come first: ctypes runs the linker and the compiler, which may not find it and take 100 ms each time.
        if next(libraries.loaded(library), None) or original(library.name, *args):
            return f"lib{name}.so"
        return original(name, *args)

    return disguise(find_library, original)
