"""The private folder that compiled extensions are kept in."""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import stat
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from musasim.errors import MusasimBuildError

if TYPE_CHECKING:
    from collections.abc import Iterator

_LOCK = "lock"
_TARGET_LOCK = ".lock"
_TEMPORARY = "tmp-"
_CHOOSE_ANOTHER = "Set MUSASIM_CACHE_DIR to a folder of your own."


def cache_path() -> Path:
    """Where the cache is or would be; touches nothing."""
    chosen = os.environ.get("MUSASIM_CACHE_DIR")
    if chosen:
        return Path(chosen).expanduser()
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "musasim"


def open_cache() -> Path:
    """The cache folder, made if need be. What it holds will be executed, so nobody else may be able to write to it."""
    folder = cache_path()
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with contextlib.suppress(FileExistsError):
            folder.mkdir(mode=0o700)
        status = folder.stat()
    except OSError as error:
        raise MusasimBuildError(f"musasim cannot use its cache folder {folder}: {error}. {_CHOOSE_ANOTHER}") from error
    _refuse_unsafe(folder, status)
    return folder


def _refuse_unsafe(folder: Path, status: os.stat_result) -> None:
    if not stat.S_ISDIR(status.st_mode):
        raise MusasimBuildError(f"musasim's cache {folder} is not a folder. {_CHOOSE_ANOTHER}")
    if status.st_uid != os.geteuid():
        raise MusasimBuildError(f"musasim's cache folder {folder} belongs to another user. {_CHOOSE_ANOTHER}")
    if status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise MusasimBuildError(
            f"musasim's cache folder {folder} can be written to by others. Run `chmod 700 {folder}`, "
            "or set MUSASIM_CACHE_DIR to a folder of your own."
        )


@contextlib.contextmanager
def locked(folder: Path, target: str | None = None) -> Iterator[None]:
    """Hold what belongs to one target, or all of the cache, for one process.

    Whoever builds holds the cache together with others and its target alone: two builds for different torches do not wait for
    one another. The kernel drops a lock when its holder dies, so it never goes stale.
    """
    with _held(folder / _LOCK, fcntl.LOCK_EX if target is None else fcntl.LOCK_SH):
        if target is None:
            yield
        else:
            with _held(folder / (target + _TARGET_LOCK), fcntl.LOCK_EX):
                yield


@contextlib.contextmanager
def _held(file: Path, how: int) -> Iterator[None]:
    try:
        descriptor = os.open(file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise MusasimBuildError(
            f"musasim cannot write to its cache {file.parent}: {error}. {_CHOOSE_ANOTHER}"
        ) from error
    try:
        try:
            fcntl.flock(descriptor, how | fcntl.LOCK_NB)
        except BlockingIOError:
            print("musasim: waiting for another process that is compiling ...", file=sys.stderr, flush=True)
            fcntl.flock(descriptor, how)
        yield
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def workspace(folder: Path, target: str) -> Iterator[Path]:
    """A folder for one build, gone afterwards. Call with the target locked: any other one of it is a killed build's then."""
    prefix = f"{_TEMPORARY}{target}-"
    remove_leftovers(folder, prefix)
    place = Path(tempfile.mkdtemp(prefix=prefix, dir=folder))
    try:
        yield place
    finally:
        shutil.rmtree(place, ignore_errors=True)


def remove_leftovers(folder: Path, prefix: str = _TEMPORARY) -> None:
    for leftover in folder.glob(prefix + "*"):
        shutil.rmtree(leftover, ignore_errors=True)


def clean() -> int:
    """Remove every compiled extension; how many there were."""
    if not cache_path().is_dir():
        return 0
    folder = open_cache()
    with locked(folder):
        remove_leftovers(folder)
        built = [entry for entry in folder.iterdir() if entry.is_dir()]
        for entry in built:
            shutil.rmtree(entry)
        for lock in folder.glob("*" + _TARGET_LOCK):  # nobody has one open: that takes the cache's own first
            lock.unlink()
    return len(built)
