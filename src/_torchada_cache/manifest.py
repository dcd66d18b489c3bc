"""A record of what a folder held when it was stored, compared before anything in the folder is loaded or executed.

Files are hashed each time, and not only where one looks changed: a truncated library ends the process that loads it (SIGBUS), a
flipped bit leaves the time stamps alone, and hashing is cheap. By benchmarks/cache.py, checking the simulator's C++ part, 4.5 MB,
takes 4 ms on a processor with instructions for SHA-256 and 12 ms on others, while importing torch takes a second.
"""

from __future__ import annotations

import hashlib
import json
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from _torchada_cache.folders import is_trusted, others_can_write

NAME = "manifest.json"
_VERSION = 1
_BLOCK = 1 << 17  # it stays in the processor's cache: half the time of 1 MiB


class _Damaged(Exception):
    """Something differs from what was stored; the message says what."""


def write(folder: Path) -> None:
    """Record what `folder` holds now, and make it writable for its owner only (a umask may have allowed more)."""
    for path, status in _walk(folder):
        if others_can_write(status) and not stat.S_ISLNK(status.st_mode):
            os.chmod(path, stat.S_IMODE(status.st_mode) & ~0o022)
    text = json.dumps({"version": _VERSION, "files": _contents(folder)}, indent=1, sort_keys=True)
    (folder / NAME).write_text(text, encoding="utf-8")
    (folder / NAME).chmod(0o600)


def damage(folder: Path) -> str | None:
    """What is wrong with `folder`; None where it holds exactly what was stored. OSError where that cannot be found out."""
    try:
        contents, recorded = _contents(folder), _recorded(folder)
    except _Damaged as error:
        return str(error)
    if contents == recorded:
        return None
    name = min(name for name in {*recorded, *contents} if recorded.get(name) != contents.get(name))
    if name not in contents:
        return f"{name} is missing"
    return f"{name} has changed since it was stored" if name in recorded else f"{name or 'it'} was not stored there"


def _recorded(folder: Path) -> dict[str, Any]:
    try:
        manifest = json.loads((folder / NAME).read_text(encoding="utf-8"))
        files = manifest["files"] if manifest["version"] == _VERSION else None
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
        raise _Damaged(f"it has no {NAME}") from None
    except (ValueError, TypeError, LookupError, RecursionError):
        files = None
    if not isinstance(files, dict):
        raise _Damaged(f"{NAME} cannot be read")
    return files


def _contents(folder: Path) -> dict[str, Any]:
    """For each file, its size, its SHA-256 and whether it is executable; for each link, its target."""
    contents: dict[str, Any] = {}
    for path, status in _walk(folder):
        name = path[len(str(folder)) + 1 :]
        if not is_trusted(status.st_uid):
            raise _Damaged(f"{name or 'it'} belongs to another user")
        if stat.S_ISLNK(status.st_mode):
            contents[name] = os.readlink(path)
            continue
        if others_can_write(status):
            raise _Damaged(f"{name or 'it'} can be written to by others")
        if stat.S_ISREG(status.st_mode):
            contents[name] = [status.st_size, _digest(path), bool(status.st_mode & stat.S_IXUSR)]
        elif not stat.S_ISDIR(status.st_mode):
            raise _Damaged(f"{name} is not a regular file")
    contents.pop(NAME, None)
    return contents


def _walk(folder: Path) -> Iterator[tuple[str, os.stat_result]]:
    """The folder and everything below it, without following links."""
    status = os.lstat(folder)
    yield str(folder), status
    if stat.S_ISDIR(status.st_mode):
        with os.scandir(folder) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    yield from _walk(Path(entry.path))
                else:
                    yield entry.path, entry.stat(follow_symlinks=False)


def _digest(path: str) -> str:
    digest, block = hashlib.sha256(), memoryview(bytearray(_BLOCK))
    with open(path, "rb", buffering=0) as stream:
        while size := stream.readinto(block):
            digest.update(block[:size])
    return digest.hexdigest()
