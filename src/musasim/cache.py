"""The private folder that compiled extensions and the toolkit are kept in."""

from __future__ import annotations

import contextlib
import os
from typing import TYPE_CHECKING

from _build_cache.cache import Cache
from _build_cache.errors import CacheError
from _build_cache.places import cache_path as _cache_path
from musasim.errors import MusasimBuildError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

_PROGRAM = "musasim"
_VARIABLE = "MUSASIM_CACHE_DIR"
# Part of what names are made of: earlier releases add to folders of the same names, and would find them changed by this one.
LAYOUT = b"2"


def cache_path() -> Path:
    """Where the cache is or would be; touches nothing."""
    with _explained():
        return _cache_path(_PROGRAM, _VARIABLE, os.environ.get(_VARIABLE))


def stored(name: str, build: Callable[[Path], None]) -> Path:
    """The folder `name` of the cache, made by `build` unless it is there, and as it was stored."""
    with _explained():
        return _cache().get(name, build)


def clean() -> int:
    """Remove every compiled extension; how many there were."""
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
