"""The compiled part as one file, for another machine: an archive of its libraries and the key that says what it was compiled for.

Whoever unpacks it names its SHA-256, as it was when it was packed, because what is unpacked will be executed.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import tarfile
from collections.abc import Sequence
from io import BytesIO
from pathlib import Path

from musasim.errors import MusasimBuildError

_KEY = "key.txt"


def pack(folder: Path, key: str, names: Sequence[str], file: Path) -> str:
    """Write the libraries of `folder` into `file`, and return its SHA-256."""
    with tarfile.open(file, "w:gz", compresslevel=6) as archive:
        (info := tarfile.TarInfo(_KEY)).size = len(key.encode())
        archive.addfile(info, BytesIO(key.encode()))
        for name in names:
            archive.add(folder / name, name)
    return _digest(file)


def unpack(file: Path, digest: str, key: str, names: Sequence[str], place: Path) -> None:
    """Put the libraries into `place`. Raises MusasimBuildError for another file than was meant, or one for another torch."""
    _check_digest(file, digest)
    try:
        with tarfile.open(file, "r:gz") as archive:
            members = {member.name: member for member in archive.getmembers() if member.isfile()}
            _check_key(file, _text(archive, members.get(_KEY)), key)
            if set(members) != {_KEY, *names}:
                raise MusasimBuildError(
                    f"{file} is not what `python -m musasim pack` writes: it holds {sorted(members)}"
                )
            for name in names:
                _extract(archive, members[name], place / name)
    except (tarfile.TarError, EOFError) as error:
        raise MusasimBuildError(f"{file} is not what `python -m musasim pack` writes: {error}") from error


def _check_digest(file: Path, digest: str) -> None:
    expected = digest.lower()
    if len(expected) != 64 or set(expected) - set("0123456789abcdef"):
        raise MusasimBuildError(f"{digest!r} is no SHA-256: expected the 64 hexadecimal digits that `pack` has printed")
    found = _digest(file)
    if found != expected:
        raise MusasimBuildError(f"{file} is not the file that was meant: its SHA-256 is {found}, expected {expected}")


def _check_key(file: Path, found: str, key: str) -> None:
    if found != key:
        raise MusasimBuildError(f"{file} was compiled for {found or 'nobody knows what'}, and {key} is needed here")


def _digest(file: Path) -> str:
    digest = hashlib.sha256()
    try:
        with file.open("rb") as stream:
            while part := stream.read(1 << 20):
                digest.update(part)
    except OSError as error:
        raise MusasimBuildError(f"{file} cannot be read: {error.strerror}") from error
    return digest.hexdigest()


def _text(archive: tarfile.TarFile, member: tarfile.TarInfo | None) -> str:
    stream = None if member is None else archive.extractfile(member)
    return "" if stream is None else stream.read(1000).decode(errors="replace")


def _extract(archive: tarfile.TarFile, member: tarfile.TarInfo, to: Path) -> None:
    source = archive.extractfile(member)
    assert source is not None  # it is a file
    with source, open(to, "xb") as target:
        shutil.copyfileobj(source, target)
    os.chmod(to, 0o755)
