"""What this process had the simulated device do: operators and kernels, counted by name once somebody has asked for it.

The C++ part counts (torch_musa/native/runtime/tally.h), and for Triton's kernels, which Python runs, this module.
"""

from __future__ import annotations

import ctypes
import sys
from collections import Counter
from pathlib import Path
from typing import NamedTuple

_VISIT = ctypes.CFUNCTYPE(None, ctypes.c_int, ctypes.c_char_p, ctypes.c_uint64)
# Carries Triton's kernels to the device; they are counted by their own names.
_CARRIER = "musasim::triton_kernel"


class Tally(NamedTuple):
    """How often each was run, by name. Kernels of libraries that are linked without torch_musa's are not seen."""

    operators: Counter[str]
    kernels: Counter[str]


class _State:
    wanted = False
    library: ctypes.CDLL | None = None
    triton: Counter[str] = Counter()


def begin() -> None:
    """Count from now on, or from the moment on that the C++ part is loaded."""
    _State.wanted = True
    part = sys.modules.get("torch_musa._MUSAC")
    if part is not None and part.__file__ is not None:
        loaded(Path(part.__file__).with_name("libmusa_python.so"))


def loaded(library: Path) -> None:
    """The C++ part has been loaded, with `library`."""
    if _State.wanted:
        _State.library = ctypes.CDLL(str(library))
        _State.library.musasim_tally_begin()


def count_triton(kernel: str) -> None:
    """A kernel of Triton's is launched."""
    if _State.wanted:
        _State.triton[kernel] += 1


def read() -> Tally:
    """The counts so far."""
    counts: tuple[Counter[str], Counter[str]] = (Counter(), Counter(_State.triton))

    def visit(kind: int, name: bytes, count: int) -> None:
        counts[kind][name.decode(errors="replace")] += count

    if _State.library is not None:
        _State.library.musasim_tally_visit(_VISIT(visit))
    operators, kernels = counts
    del operators[_CARRIER]
    return Tally(operators, kernels)
