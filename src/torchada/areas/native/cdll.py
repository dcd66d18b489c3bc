"""ctypes.CDLL("libcudart.so") and similar calls: a library opened by CUDA's name is the backend's, with CUDA's function names.

The backend's libraries have CUDA's function names also where they are opened by their own, as SGLang and vLLM's plug-in do; their
own function names are looked up first. Libraries opened by any other name are not changed, nor is CUDA's own if it can be loaded
and its counterpart cannot. Libraries that a program has opened do not change when the area is undone.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from torchada.redirect.calls import disguise
from torchada.redirect.context import Context
from torchada.redirect.engine import Patch
from torchada.redirect.library_names import NativeLibraries

if TYPE_CHECKING:
    from ctypes import _CDLLFuncPointer as FuncPtr


def patches(context: Context) -> Iterator[Patch]:
    libraries = NativeLibraries(context.backend)
    init = _init(libraries, context.backend.name.upper(), ctypes.CDLL.__init__)
    # ctypes.cdll, PyDLL and classes that the program defines all pass through here.
    yield Patch(ctypes.CDLL, "__init__", init, 'ctypes.CDLL("libcudart.so")', to="the backend's library")


def _init(libraries: NativeLibraries, platform: str, original: Callable[..., None]) -> Callable[..., None]:
    def __init__(self: ctypes.CDLL, name: Any, *args: object, **kwargs: object) -> None:
        library = libraries.in_file(name)
        if library is None:
            original(self, name, *args, **kwargs)
            if libraries.is_own_file(name):
                self._FuncPtr = _with_both_names(self._FuncPtr, libraries, platform)
            return
        faults = []
        for file in libraries.files(library):
            try:
                original(self, file, *args, **kwargs)
            except OSError as fault:
                faults.append(str(fault))
            else:
                self._FuncPtr = _looking_up(self._FuncPtr, libraries.symbols, platform)
                return
        try:
            original(self, name, *args, **kwargs)
        except OSError as fault:
            tried = "; ".join(dict.fromkeys([*faults, str(fault)]))
            asked = os.fsdecode(name)
            raise OSError(
                f"{asked} is lib{library.name}.so on {platform}, and neither can be loaded: {tried}"
            ) from fault

    return disguise(__init__, original)


def _with_both_names(base: Any, libraries: NativeLibraries, platform: str) -> type[FuncPtr]:
    """For a library that a program has opened by its own name."""
    return _looking_up(base, lambda asked: list(dict.fromkeys([asked, *libraries.symbols(asked)])), platform)


def _looking_up(base: Any, names: Callable[[str], list[str]], platform: str) -> type[FuncPtr]:
    """The type of a library's functions, looked up by the names that it may have there. Each library has its own type."""

    class _FuncPtr(base):  # type: ignore[misc]
        _flags_ = base._flags_
        _restype_ = base._restype_

        def __new__(cls, *args: Any) -> Any:
            asked = args[0][0] if args and isinstance(args[0], tuple) and args[0] else None
            if not isinstance(asked, str):  # an ordinal, an address, a callback
                return super().__new__(cls, *args)
            library, symbols = args[0][1], names(asked)
            for symbol in symbols:
                try:
                    return super().__new__(cls, (symbol, library), *args[1:])
                except AttributeError as fault:
                    missing = fault
            if symbols == [asked]:
                raise missing
            others = " or ".join(symbol for symbol in symbols if symbol != asked)
            raise AttributeError(f"{asked} is {others} on {platform}: {missing}") from missing

    return _FuncPtr
