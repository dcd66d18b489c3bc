"""Names of CUDA's C libraries and of the functions in them: the counterpart of each, and where to find it."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torchada.backends.descriptor import Backend, NativeLibrary

_MAPS = Path("/proc/self/maps")


class NativeLibraries:
    """Looks names up in the backend's tables of libraries."""

    def __init__(self, backend: Backend) -> None:
        self._libraries = backend.native.libraries
        self._file = _file_of(self._libraries)
        self._own_file = _file_of(library.name for library in self._libraries.values())
        rules = [(cuda, own, library) for library in self._libraries.values() for cuda, own in library.prefixes.items()]
        # The longest first: "cublasLt" before "cublas".
        self._rules = sorted(rules, key=lambda rule: len(rule[0]), reverse=True)
        self._renames = {cuda: own for library in self._libraries.values() for cuda, own in library.renames.items()}

    def called(self, name: str) -> NativeLibrary | None:
        """The counterpart of the library that -l`name` would link ("cudart")."""
        return self._libraries.get(name)

    def in_file(self, name: object) -> NativeLibrary | None:
        """The counterpart of a library given as for dlopen: a file name or path (str, bytes, path-like)."""
        key = _library_in(self._file, name)
        return None if key is None else self._libraries[key]

    def is_own_file(self, name: object) -> bool:
        """Whether a library given as for dlopen is a counterpart, under its own name."""
        return _library_in(self._own_file, name) is not None

    def symbols(self, name: str) -> list[str]:
        """The names that a function of CUDA may have in the counterpart, the likeliest first; other names unchanged."""
        if name in self._renames:
            return [self._renames[name]]
        for cuda, own, library in self._rules:
            if name.startswith(cuda) and name[len(cuda) : len(cuda) + 1].isupper():
                symbol = own + name[len(cuda) :]
                suffix = library.optional_suffix
                return [symbol, symbol.removesuffix(suffix)] if suffix and symbol.endswith(suffix) else [symbol]
        return [name]

    def files(self, library: NativeLibrary) -> Iterator[str]:
        """What to try with dlopen for a library, in order: its name, then paths next to related libraries that are loaded."""
        yield f"lib{library.name}.so"
        yield from self.loaded(library)

    def loaded(self, library: NativeLibrary) -> Iterator[str]:
        """Paths of a library that this process has loaded, or that is in the folder of a loaded library of the backend.

        Without its development package a library has no unversioned name, and the loader does not search the adapter's rpath.
        """
        known = {counterpart.name for counterpart in self._libraries.values()}
        paths = [path for path in _mapped_files() if _library_name(path) in known]
        yield from (str(path) for path in paths if _library_name(path) == library.name)
        for folder in dict.fromkeys(path.parent for path in paths):
            yield from map(str, sorted(folder.glob(f"lib{library.name}.so*"), reverse=True))


def _file_of(names: Iterable[str]) -> str:
    """The file names of these libraries. Wheels put a hash into those that they contain: libcudart-d0da41ae.so.11.0.

    An expression that `re` compiles when it is first used, because `import torch` would wait for it.
    """
    return rf"lib({'|'.join(map(re.escape, names)) or '(?!)'})(?:-[0-9a-f]+)?\.so(?:\.\d+)*"


def _library_in(pattern: str, name: object) -> str | None:
    if not isinstance(name, (str, bytes, os.PathLike)):
        return None
    match = re.fullmatch(pattern, os.path.basename(os.fsdecode(name)))
    return match[1] if match else None


def _library_name(path: Path) -> str:
    return path.name.partition(".so")[0].removeprefix("lib")


def _mapped_files() -> list[Path]:
    """The files that are mapped into this process; none if the system does not list them."""
    try:
        lines = _MAPS.read_text(errors="surrogateescape").splitlines()
    except OSError:
        return []
    return [
        Path(path) for path in dict.fromkeys(line[line.index("/") :] for line in lines if ".so" in line and "/" in line)
    ]
