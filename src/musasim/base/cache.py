"""The private folder that holds the compiled extensions and the toolkit."""

from __future__ import annotations

import contextlib
import os
from typing import TYPE_CHECKING

from _torchada_cache.cache import Cache
from _torchada_cache.errors import CacheError
from _torchada_cache.places import cache_path as _cache_path
from musasim.errors import MusasimBuildError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

_PROGRAM = "musasim"
_VARIABLE = "MUSASIM_CACHE_DIR"
# Part of every folder's name. Otherwise earlier releases would add files to these folders, and find them changed by this one.
LAYOUT = b"2"


def cache_path() -> Path:
    """Return where the cache is or would be. This creates nothing."""
    with _explained():
        return _cache_path(_PROGRAM, _VARIABLE, os.environ.get(_VARIABLE))


def stored(name: str, build: Callable[[Path], None]) -> Path:
    """Return the folder `name` of the cache. `build` makes it if it is missing or differs from what was stored."""
    with _explained():
        return _cache().get(name, build)


def found(name: str) -> Path | None:
    """Return the folder `name` of the cache as it was stored, or None."""
    with _explained():
        return _cache().find(name)


def clean() -> int:
    """Remove every compiled extension, and return their number."""
    with _explained():
        return _cache().clear()


def _cache() -> Cache:
    return Cache(_PROGRAM, _VARIABLE, cache_path())


@contextlib.contextmanager
def _explained() -> Iterator[None]:
    try:
        yield
    except CacheError as error:
        raise MusasimBuildError(str(error)) from error
