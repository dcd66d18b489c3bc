"""ctypes.util.find_library("cudart"): answered where the backend has such a library.

The answer is CUDA's file name, because that is the name under which ctypes gives the library with CUDA's function names.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from torchada.redirect.calls import disguise
from torchada.redirect.context import Context
from torchada.redirect.engine import Patch
from torchada.redirect.names.libraries import NativeLibraries


def patches(context: Context) -> Iterator[Patch]:
    from ctypes import util  # not ctypes.util: the package does not have it yet when its arrival is announced

    find = _find_library(NativeLibraries(context.backend), util.find_library)
    yield Patch(util, "find_library", find, 'ctypes.util.find_library("cudart")', to="the backend's library")


def _find_library(libraries: NativeLibraries, original: Callable[..., str | None]) -> Callable[..., str | None]:
    def find_library(name: Any, *args: Any) -> str | None:
        library = libraries.called(name)
        if library is None:
            return original(name, *args)
        # What the process has loaded comes first: ctypes asks the linker and the compiler, who may not know it, at 100 ms a time.
        if next(libraries.loaded(library), None) or original(library.name, *args):
            return f"lib{name}.so"
        return original(name, *args)

    return disguise(find_library, original)
