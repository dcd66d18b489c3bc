"""One compiled file, loaded: its overrides, each of which can be registered and taken back.

csrc/override.h is the C++ side.
"""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Override:
    """A kernel of a library: `name` is the operator ("mm.dtype"), `until` the first adapter version that no longer needs it."""

    name: str
    until: str
    source: str
    library: ctypes.CDLL
    index: int

    def enable(self, key: str, logged: bool) -> None:
        """Register the kernel for a dispatch key. Raises RuntimeError where PyTorch has no such operator, or another signature."""
        problem = self.library.torchada_enable(self.index, key.encode(), logged)
        if problem is not None:
            raise RuntimeError(f"{self.source}: {problem.decode(errors='replace')}")

    def disable(self) -> None:
        """Take it back; what was in force before is in force again."""
        self.library.torchada_disable(self.index)


def load(path: Path, source: str) -> list[Override]:
    """The overrides of a library. Raises OSError where it cannot be loaded; one without a TORCHADA_OVERRIDE has none."""
    # Never closed, because the dispatcher holds pointers to its functions.
    library = ctypes.CDLL(str(path))
    if not hasattr(library, "torchada_enable"):
        return []
    library.torchada_name.restype = library.torchada_until.restype = library.torchada_enable.restype = ctypes.c_char_p
    library.torchada_enable.argtypes = (ctypes.c_int, ctypes.c_char_p, ctypes.c_int)
    library.torchada_disable.restype = None
    return [
        Override(library.torchada_name(index).decode(), library.torchada_until(index).decode(), source, library, index)
        for index in range(library.torchada_count())
    ]
