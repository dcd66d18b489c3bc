"""Locks among processes, on files. The kernel drops one when its holder dies, so none is ever stale."""

from __future__ import annotations

import errno
import fcntl
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

# Some file systems of clusters have no locks. Work may then be done twice, which is harmless: what is stored appears as a whole.
_NO_LOCKS = (errno.ENOSYS, errno.ENOTSUP, errno.ENOLCK)
_held: set[int] = set()


@contextmanager
def locked(file: Path, waiting: str, shared: bool = False) -> Iterator[bool]:
    """Hold the lock on `file`; False where the file system has no locks. `waiting` is printed to stderr if it has to wait."""
    descriptor = os.open(file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    _held.add(descriptor)
    try:
        yield _lock(descriptor, fcntl.LOCK_SH if shared else fcntl.LOCK_EX, waiting)
    finally:
        if descriptor in _held:  # not in a forked child that leaves the block too
            _held.discard(descriptor)
            with suppress(OSError):  # closing alone leaves it to children that C code has forked
                fcntl.flock(descriptor, fcntl.LOCK_UN)
            os.close(descriptor)


def is_held(file: Path) -> bool:
    """Whether a process holds the lock on `file`. Where there is no such file, or the file system has no locks, none does."""
    try:
        descriptor = os.open(file, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError as error:
        if error.errno not in _NO_LOCKS:
            raise
    finally:
        # A child that another thread forks meanwhile shares the descriptor, and would keep the lock.
        with suppress(OSError):
            fcntl.flock(descriptor, fcntl.LOCK_UN)
        os.close(descriptor)
    return False


def _lock(descriptor: int, how: int, waiting: str) -> bool:
    try:
        try:
            fcntl.flock(descriptor, how | fcntl.LOCK_NB)
        except BlockingIOError:
            if sys.stderr is not None:
                print(waiting, file=sys.stderr, flush=True)
            fcntl.flock(descriptor, how)
    except OSError as error:
        if error.errno not in _NO_LOCKS:
            raise
        return False
    return True


def _let_go() -> None:
    """Close the locks in a forked child: it shares its parent's, and would hold them for as long as it lives."""
    while _held:
        os.close(_held.pop())


os.register_at_fork(after_in_child=_let_go)
