"""The management library, for a process that has not loaded torch_musa: it is then the first to need the runtime."""

from __future__ import annotations

import ctypes

from musasim.toolkit.home import standalone_runtime
from musasim.toolkit.libraries.by_name import MTML


def load() -> None:
    """Load libmtml.so.2, which the dynamic linker then finds by its name. A torch_musa that comes later shares the runtime."""
    runtime = standalone_runtime()
    ctypes.CDLL(str(runtime))
    MTML.load(runtime)
