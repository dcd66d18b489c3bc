"""The private folder that compiled overrides are kept in, and the lock for who compiles."""

from __future__ import annotations

import fcntl
import os
import stat
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from torchada import _settings


def place(chosen: str | None) -> Path:
    """Where the cache is or would be: below `chosen`, or where this user's caches are."""
    base = _settings.of_others("XDG_CACHE_HOME")
    root = Path(chosen).expanduser() if chosen else (Path(base) if base else Path.home() / ".cache") / "torchada"
    return root / "cpp_ops"


def open_folder(folder: Path) -> Path:
    """The cache, made if need be. What it holds is executed, so it must belong to this user, and be writable to nobody else.

    Raises PermissionError where it is not.
    """
    folder.parent.mkdir(parents=True, exist_ok=True)
    try:
        folder.mkdir(mode=0o700)
    except FileExistsError:
        pass
    status = folder.stat()
    if status.st_uid != os.geteuid():
        raise PermissionError(f"{folder} belongs to another user; set TORCHADA_CACHE_DIR to a folder of your own")
    if status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise PermissionError(f"{folder} can be written to by others; run `chmod 700 {folder}`")
    return folder


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """One process compiles, others wait. The kernel drops the lock when its holder dies, so it is never stale."""
    descriptor = os.open(folder / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            print("torchada: waiting for another process that compiles operators ...", file=sys.stderr, flush=True)
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


@contextmanager
def written(path: Path) -> Iterator[Path]:
    """A name to write to that becomes `path` when the block ends well: a process that has the old file loaded keeps it."""
    descriptor, name = tempfile.mkstemp(prefix=f".{path.stem}-", suffix=path.suffix, dir=path.parent)
    os.close(descriptor)
    try:
        yield Path(name)
        os.replace(name, path)
    finally:
        Path(name).unlink(missing_ok=True)
