"""The library that a program without PyTorch needs: the simulated muBLAS computes with the routines in PyTorch's libtorch_cpu.so.

A process that has imported torch has loaded it. A program that mcc links is told to load it, as it would not find it by itself.
"""

from __future__ import annotations

import re
import sys
import sysconfig
from collections.abc import Iterable
from pathlib import Path

_OF_ROUTINES = re.compile(r"-l(?:mublas|mublasLt|musolver)|(?:.*/)?lib(?:mublas|mublasLt|musolver)\.so")


def needed_by(words: Iterable[str]) -> list[str]:
    """What a linker that is given `words` needs besides; nothing for a shared library, which may be loaded beside PyTorch."""
    given = list(words)
    library = _library()
    if "-shared" in given or library is None or not any(map(_OF_ROUTINES.fullmatch, given)):
        return []
    return ["-Wl,--no-as-needed", str(library), "-Wl,--as-needed", f"-Wl,-rpath,{library.parent}"]


def _library() -> Path | None:
    """PyTorch's, in the environment of this Python, which has been started without its packages."""
    own = Path(sys.executable).parent.parent / "lib" / f"python{sys.version_info[0]}.{sys.version_info[1]}"
    folders = (own / "site-packages", Path(sysconfig.get_path("platlib")))
    places = (folder / "torch" / "lib" / "libtorch_cpu.so" for folder in folders)
    return next((place for place in places if place.is_file()), None)
