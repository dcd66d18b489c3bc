"""A cache of folders: each is built once, by one process at a time, appears as a whole, and is returned only as it was stored."""

from __future__ import annotations

import errno
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path

from _torchada_cache import manifest
from _torchada_cache.errors import CacheError, UnsafeError
from _torchada_cache.folders import make_private
from _torchada_cache.locks import is_held, locked

_LOCK = "lock"
_ENTRY_LOCK = ".lock"
_TEMPORARY = "tmp-"
_OLD = 24 * 60 * 60  # seconds; a build that was stored without a lock may have been going on until then
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_THERE_ALREADY = (errno.ENOTEMPTY, errno.EEXIST, errno.ENOTDIR)


@dataclass(frozen=True)
class Cache:
    """The cache of `program` in `folder`; the environment variable `variable` chooses another folder. Making one touches nothing.

    Every method raises CacheError where the folder cannot be used, or must not be.
    """

    program: str
    variable: str
    folder: Path

    def open(self) -> None:
        """Check the folder, and make it if necessary."""
        with self._explained(on_the_way=True):
            make_private(self.folder)

    def find(self, name: str) -> Path | None:
        """The entry as it was stored; None where there is none, or where it is damaged."""
        self.open()
        with self._explained():
            try:
                return self.folder / name if manifest.damage(self.folder / name) is None else None
            except FileNotFoundError:
                return None

    def get(self, name: str, build: Callable[[Path], None]) -> Path:
        """The entry. Unless it exists undamaged, `build` makes it in the folder that it is given."""
        entry = self.find(name)
        if entry is None:
            with self.lock(name) as is_alone:
                entry = self.find(name)
                if entry is None:
                    with self.stored(name, is_alone) as place:
                        build(place)
        return entry or self.folder / name

    def is_busy(self, name: str) -> bool:
        """Whether a process is building the entry."""
        self.open()
        with self._explained():
            return is_held(self.folder / (name + _ENTRY_LOCK))

    @contextmanager
    def lock(self, name: str | None = None) -> Iterator[bool]:
        """Lock one entry, or the whole cache, for this process; yields False where the file system has no locks.

        A process that builds an entry shares the cache's own lock with others, so builds of two entries do not wait for each other.
        """
        self.open()
        waiting = f"{self.program}: waiting for another process that is compiling ..."
        with self._explained(), locked(self.folder / _LOCK, waiting, shared=name is not None) as is_alone:
            one = nullcontext(is_alone) if name is None else locked(self.folder / (name + _ENTRY_LOCK), waiting)
            with one as is_alone:
                yield is_alone

    @contextmanager
    def stored(self, name: str, is_alone: bool = False) -> Iterator[Path]:
        """A folder to build the entry in. It becomes the entry when the block ends without an error, and is removed otherwise.

        A process that has loaded the old entry keeps it. `is_alone` says that the entry is locked: any other folders of its builds
        were left by killed processes.
        """
        self.open()
        prefix = f"{_TEMPORARY}{name}-"
        if is_alone:
            self._remove_leftovers(prefix)
            self._remove_old_leftovers()
        with self._explained():
            self._say_what_is_damaged(self.folder / name)
            place = Path(tempfile.mkdtemp(prefix=prefix, dir=self.folder))
            try:
                yield place
                manifest.write(place)
                self._replace(place, self.folder / name)
            finally:
                shutil.rmtree(place, ignore_errors=True)

    def remove(self, name: str) -> None:
        """Remove an entry, if it exists."""
        shutil.rmtree(self.folder / name, ignore_errors=True)

    def clear(self) -> int:
        """Remove every entry, and return how many there were."""
        if not self.folder.is_dir():
            return 0
        with self.lock(), self._explained():
            self._remove_leftovers(_TEMPORARY)
            entries = [entry for entry in self.folder.iterdir() if entry.is_dir()]
            for entry in entries:
                entry.unlink() if entry.is_symlink() else shutil.rmtree(entry)
            for file in self.folder.glob("*" + _ENTRY_LOCK):  # no process has one open without the cache's own lock
                file.unlink()
        return len(entries)

    def _replace(self, new: Path, target: Path) -> None:
        try:
            os.rename(new, target)
        except OSError as error:
            if error.errno not in _THERE_ALREADY:
                raise
            if manifest.damage(target) is None:  # without locks, another process may have been faster
                return
            old = target.with_name(f"{_TEMPORARY}{target.name}-{os.urandom(4).hex()}")
            os.rename(target, old)
            os.rename(new, target)
            _remove(old)

    def _remove_leftovers(self, prefix: str) -> None:
        for leftover in self.folder.glob(prefix + "*"):
            _remove(leftover)

    def _remove_old_leftovers(self) -> None:
        """Those of builds that were killed, and that nobody has begun again: another compiler or PyTorch has other entries."""
        for leftover in self.folder.glob(_TEMPORARY + "*"):
            lock = leftover.with_name(leftover.name[len(_TEMPORARY) :].rpartition("-")[0] + _ENTRY_LOCK)
            with suppress(OSError):
                if lock.exists() and time.time() - leftover.stat().st_mtime > _OLD and not is_held(lock):
                    _remove(leftover)

    def _say_what_is_damaged(self, entry: Path) -> None:
        damage = manifest.damage(entry) if os.path.lexists(entry) else None
        if damage is not None and sys.stderr is not None:
            print(f"{self.program}: {entry} is rebuilt: {damage}", file=sys.stderr, flush=True)

    @contextmanager
    def _explained(self, on_the_way: bool = False) -> Iterator[None]:
        """Explain errors of the cache, or of its path (`on_the_way`), with the way out; errors of other files pass unchanged."""
        another = f"set {self.variable} to a folder of your own"
        try:
            yield
        except UnsafeError as error:
            raise CacheError(f"the cache of {self.program} is not private: {error}, or {another}") from error
        except OSError as error:
            if isinstance(error, CacheError) or not (on_the_way or self._concerns(error)):
                raise
            if error.errno in _FULL:
                raise CacheError(
                    f"no space left on the disk that holds the cache {self.folder} of {self.program}; free some, or set "
                    f"{self.variable} to a folder on another one"
                ) from error
            raise CacheError(f"the cache {self.folder} of {self.program} cannot be used: {error}; {another}") from error

    def _concerns(self, error: OSError) -> bool:
        """Whether the file that the error names is in the cache; an error of a full disk may name none."""
        if not isinstance(error.filename, (str, bytes)):
            return error.errno in _FULL
        file = Path(os.fsdecode(error.filename))
        return self.folder in (file, *file.parents)


def _remove(entry: Path) -> None:
    """Remove `entry`, whatever it is: another user may have put anything here while the folder was open to others."""
    if entry.is_dir() and not entry.is_symlink():
        shutil.rmtree(entry, ignore_errors=True)
    else:
        entry.unlink(missing_ok=True)
