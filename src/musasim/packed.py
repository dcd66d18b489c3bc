"""The compiled part as one file, for another machine: an archive of entries of the cache, whose names say what they are for.

Whoever unpacks it names its SHA-256, as it was when it was packed, because what is unpacked will be executed.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import tarfile
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path, PurePosixPath

from musasim.base import cache
from musasim.errors import MusasimBuildError

#: Names of entries of the cache, and of the files in each.
Entries = Mapping[str, Sequence[str]]


def pack(entries: Entries, file: Path) -> str:
    """Write the entries, which the cache has, into `file`, and return its SHA-256."""
    with tarfile.open(file, "w:gz", compresslevel=6) as archive:
        for member in _members(entries):
            archive.add(cache.cache_path() / member, member)
    return _digest(file)


def unpack(file: Path, digest: str, entries: Entries) -> None:
    """Put the entries into the cache. Raises MusasimBuildError for another file than was meant, or one for another torch."""
    _check_digest(file, digest)
    try:
        with tarfile.open(file, "r:gz") as archive:
            members = {member.name: member for member in archive.getmembers()}
            _check_members(file, members, entries)
            for entry, names in entries.items():
                wanted = [members[f"{entry}/{name}"] for name in names]
                cache.stored(entry, partial(_extract, archive, wanted))
    except (tarfile.TarError, EOFError) as error:
        raise MusasimBuildError(f"{file} is not what `python -m musasim pack` writes: {error}") from error


def _members(entries: Entries) -> list[str]:
    return [f"{entry}/{name}" for entry, names in entries.items() for name in names]


def _check_digest(file: Path, digest: str) -> None:
    expected = digest.lower()
    if len(expected) != 64 or set(expected) - set("0123456789abcdef"):
        raise MusasimBuildError(f"{digest!r} is no SHA-256: expected the 64 hexadecimal digits that `pack` has printed")
    found = _digest(file)
    if found != expected:
        raise MusasimBuildError(f"{file} is not the file that was meant: its SHA-256 is {found}, expected {expected}")


def _check_members(file: Path, members: Mapping[str, tarfile.TarInfo], entries: Entries) -> None:
    """Exactly what is wanted, and files all of them: nothing else gets into the cache."""
    wanted = set(_members(entries))
    if set(members) == wanted and all(member.isfile() for member in members.values()):
        return
    there = sorted({PurePosixPath(name).parts[0] for name in members if name not in wanted}) or sorted(members)
    raise MusasimBuildError(
        f"{file} was not packed for this torch, Python and musasim: it has {', '.join(there) or 'nothing'}, "
        f"and {', '.join(entries)} are needed here"
    )


def _digest(file: Path) -> str:
    digest = hashlib.sha256()
    try:
        with file.open("rb") as stream:
            while part := stream.read(1 << 20):
                digest.update(part)
    except OSError as error:
        raise MusasimBuildError(f"{file} cannot be read: {error.strerror}") from error
    return digest.hexdigest()


def _extract(archive: tarfile.TarFile, members: Sequence[tarfile.TarInfo], place: Path) -> None:
    for member in members:
        to = place / PurePosixPath(member.name).name
        source = archive.extractfile(member)
        assert source is not None  # it is a file
        with source, open(to, "xb") as target:
            shutil.copyfileobj(source, target)
        os.chmod(to, 0o755)
