"""The private folders that torchada keeps what it builds in."""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
from pathlib import Path

from _torchada_cache.cache import Cache
from _torchada_cache.errors import CacheError
from _torchada_cache.places import cache_path

__all__ = ["CacheError", "cache", "temporary"]

_PROGRAM = "torchada"
_VARIABLE = "TORCHADA_CACHE_DIR"


def cache(name: str, chosen: str | None) -> Cache:
    """The cache called `name`, in the folder that TORCHADA_CACHE_DIR names (`chosen`), or where the user's caches are.

    Raises CacheError where no such folder is known.
    """
    return Cache(_PROGRAM, _VARIABLE, cache_path(_PROGRAM, _VARIABLE, chosen) / name)


def temporary(name: str) -> Cache:
    """The same in a temporary folder, which is removed when this process ends; its children may use it until then."""
    root, owner = tempfile.mkdtemp(prefix=f"{_PROGRAM}-"), os.getpid()

    def remove() -> None:
        if os.getpid() == owner:
            shutil.rmtree(root, ignore_errors=True)

    atexit.register(remove)
    return Cache(_PROGRAM, _VARIABLE, Path(root) / name)
