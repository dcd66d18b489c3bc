"""The place of an output folder: who may write there, what lies there that is not ours, and how a new folder takes it.

A folder is only changed where a manifest says that we wrote it. Files of others are moved to the new folder just after it has
taken the old one's place; a process that is killed at that moment leaves them in the folder beside, which nothing deletes.
"""

from __future__ import annotations

import errno
import fcntl
import os
import shutil
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from torchada.base.warnings import tell_once
from torchada.porting.findings import OutputError, PortingError
from torchada.porting.manifest import Record, is_as_written
from torchada.porting.scan import LOCK, MANIFEST, TEMPORARY

_MOST_NAMES = 20
_CURRENT_FOLDER, _EXCHANGE = -100, 2  # of Linux: AT_FDCWD, RENAME_EXCHANGE


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Wait until no other process ports into `folder`. Where no lock can be had, nothing can be written either, or not by two."""
    file = folder.with_name(f".{folder.name}{LOCK}")
    descriptor = _lock(file, folder)
    try:
        yield
    finally:
        if descriptor is not None:
            with suppress(OSError):
                os.unlink(file)  # while it is held: whoever waits for it sees that it is gone, and takes the next one
            os.close(descriptor)


def _lock(file: Path, folder: Path) -> int | None:
    while True:
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
            # NFS gives an exclusive lock to whoever may write alone.
            descriptor = os.open(file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o644)
        except OSError:
            return None
        try:
            _wait(descriptor, folder)
            if os.path.samestat(os.fstat(descriptor), os.lstat(file)):
                return descriptor
        except FileNotFoundError:
            pass
        except OSError:  # a file system without locks
            return descriptor
        except BaseException:
            os.close(descriptor)
            raise
        os.close(descriptor)


def _wait(descriptor: int, folder: Path) -> None:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        if sys.stderr is not None:
            print(f"torchada: waiting for another process that ports into {folder}", file=sys.stderr, flush=True)
        fcntl.flock(descriptor, fcntl.LOCK_EX)


@dataclass
class Place:
    """What lies in `folder`, by paths relative to it. `ours` are records of what we wrote, `targets` what is to be written now."""

    folder: Path
    ours: Mapping[str, Record]
    targets: frozenset[str]
    edited: list[str] = field(default_factory=list)
    foreign: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._needed = set(_folders(self.targets))
        self._shared = self._needed | set(_folders(self.ours))
        self._look("")

    def _look(self, inner: str) -> None:
        for child in _children(self.folder, inner):
            path = inner + child.name
            if path == MANIFEST:
                continue
            if child.is_dir(follow_symlinks=False):
                if path in self._shared:
                    self._look(f"{path}/")
                else:
                    self.foreign.append(path)
            elif path not in self.ours:
                self.foreign.append(path)
            elif not is_as_written(child.path, self.ours[path]):
                self.edited.append(path)

    @property
    def in_the_way(self) -> list[str]:
        """What would be lost."""
        return sorted(self.edited + [path for path in self.foreign if path in self.targets or path in self._needed])

    def check(self, is_known: bool, force: bool) -> None:
        """OutputError where something would be lost and `force` does not allow it, or nothing says that the folder is ours."""
        lost = self.in_the_way
        folders = [
            path for path in lost if os.path.isdir(self.folder / path) and not os.path.islink(self.folder / path)
        ]
        if folders:
            raise OutputError(f"{self.folder}: these folders stand where files are to be written:{_listed(folders)}")
        if force:
            return
        if not is_known and (self.foreign or self.edited):
            would = f"--force keeps the files in it{' except these' if lost else ''}"
            raise OutputError(
                f"{self.folder} exists and was not made by this command; name another folder or remove it; {would}"
                f"{':' + _listed(lost) if lost else ''}"
            )
        if lost:
            raise OutputError(
                f"{self.folder}: nothing was written, because these files are not as this command wrote them; "
                f"move them away, or let --force replace them:{_listed(lost)}"
            )

    def leave(self, old: Path) -> None:
        """Delete from the folder that was here, and is now at `old`, what was ours, and bring back the rest."""
        doomed = set(self.in_the_way)
        self._empty(old, "", doomed)
        try:
            os.rmdir(old)
        except OSError:
            tell_once(f"{old} holds files of {self.folder} that were changed while it was written")

    def _empty(self, old: Path, inner: str, doomed: set[str]) -> None:
        for child in _children(old, inner):
            path = inner + child.name
            is_folder = child.is_dir(follow_symlinks=False)
            if is_folder and path in self._shared:
                self._empty(old, f"{path}/", doomed)
                with suppress(OSError):
                    os.rmdir(child.path)
            elif not is_folder and (
                path == MANIFEST or path in doomed or (path in self.ours and is_as_written(child.path, self.ours[path]))
            ):
                os.unlink(child.path)
            elif not os.path.lexists(self.folder / path):
                (self.folder / path).parent.mkdir(parents=True, exist_ok=True)
                os.rename(child.path, self.folder / path)


def _children(folder: Path, inner: str) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder / inner) as children:
            return sorted(children, key=lambda child: child.name)
    except FileNotFoundError:
        return []
    except OSError as error:
        raise PortingError(f"{folder / inner}: {error.strerror}") from error


def _folders(paths: Iterable[str]) -> Iterator[str]:
    for path in paths:
        while path := path.rpartition("/")[0]:
            yield path


def _listed(paths: list[str]) -> str:
    more = len(paths) - _MOST_NAMES
    return "".join(f"\n  {path}" for path in paths[:_MOST_NAMES]) + (f"\n  and {more:,} more" if more > 0 else "")


@contextmanager
def replacing(place: Place) -> Iterator[Path]:
    """A new folder that takes the place of the old one when the block ends well; otherwise nothing is left of it.

    PortingError for what the file system refuses.
    """
    folder, ours = place.folder, None
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        new = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", suffix=TEMPORARY, dir=folder.parent))
        ours = new.stat()
        yield new
        os.chmod(new, folder.stat().st_mode & 0o7777 if folder.exists() else 0o777 & ~_umask())
        old = _take_place(folder, new)
    except OSError as error:
        where = f" ({error.filename})" if error.filename else ""
        raise PortingError(f"{folder}: nothing was written: {error.strerror}{where}") from error
    finally:
        # Whenever an interrupt comes: what the exchange has put there is not ours to delete.
        if ours is not None and new.exists() and os.path.samestat(ours, new.stat()):
            shutil.rmtree(new, ignore_errors=True)
    if old is not None:
        place.leave(old)


def _take_place(folder: Path, new: Path) -> Path | None:
    """Put `new` at `folder`; where what was there is now."""
    if not folder.exists():
        os.rename(new, folder)
        return None
    if _exchanged(folder, new):
        return new
    # The folder is absent between these two: there is no other way on file systems that cannot exchange names.
    old = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", suffix=TEMPORARY, dir=folder.parent))
    try:
        os.rename(folder, old)
        try:
            os.rename(new, folder)
        except OSError:
            os.rename(old, folder)
            raise
    except OSError:
        with suppress(OSError):
            os.rmdir(old)
        raise
    return old


def _exchanged(one: Path, other: Path) -> bool:
    """Exchange two names at once; False where the system or the file system does not know how."""
    try:
        import ctypes

        rename = ctypes.CDLL(None, use_errno=True).renameat2
    except (ImportError, OSError, AttributeError):
        return False
    if rename(_CURRENT_FOLDER, os.fsencode(one), _CURRENT_FOLDER, os.fsencode(other), _EXCHANGE) == 0:
        return True
    number = ctypes.get_errno()
    if number in (errno.ENOSYS, errno.EINVAL, errno.ENOTSUP):
        return False
    raise OSError(number, os.strerror(number), str(one))


def _umask() -> int:
    mask = os.umask(0o022)
    os.umask(mask)
    return mask
