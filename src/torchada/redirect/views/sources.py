"""Whether Python sources mention MUSA. They are read, from folders and from zip files, and never imported."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from torchada.redirect.views.needles import search

# Whole words: the bare letters occur by chance (setNumThreads contains mthreads).
WORDS = rb"\b(?:torch_musa|torch\.musa|is_musa|MooreThreads|torchada)\b|\"musa\"|'musa'"
_MENTION = re.compile(WORDS)
# Every mention contains one of these, and plain bytes are found faster.
_SIGNS = (b"musa", b"MooreThreads", b"torchada")
_FILES, _BYTES = 5000, 64 << 20
# Folders of data may lie among the sources, with any number of files.
_ENTRIES = 100_000
_BUFFER = 1 << 19
# A pipe called x.py must not make us wait for a writer.
_OPEN = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK


class Mention(NamedTuple):
    """The first mention of MUSA that was found."""

    file: str
    line: int
    word: str


def find(places: Iterable[str]) -> Mention | None:
    """The first mention in the files and folders `places`, within 5,000 files and 64 MiB; what cannot be read is passed over."""
    size = 0
    for count, (file, length, text) in enumerate(_sources(places), 1):
        found = mention(text) if text else None
        if found is not None:
            return Mention(file, *found)
        size += length
        if count >= _FILES or size >= _BYTES:
            return None
    return None


def exists(place: str) -> bool:
    """Whether there is something to search: a folder, a source, or a place in a zip file."""
    return os.path.isdir(place) or (place.endswith(".py") and os.path.isfile(place)) or _archive_of(place) is not None


def mention(text: bytes) -> tuple[int, str] | None:
    """The line and the word of the first mention of MUSA in a source."""
    if not any(sign in text for sign in _SIGNS):
        return None
    found = _MENTION.search(text)
    return (text.count(b"\n", 0, found.start()) + 1, found[0].decode().strip("\"'")) if found else None


# A source: its file, how many bytes it has, and its text, empty where no sign is in it.
_Source = tuple[str, int, bytes]


def _sources(places: Iterable[str]) -> Iterator[_Source]:
    read = _reader()
    for place in places:
        if os.path.isdir(place):
            yield from map(read, _below(place))
        elif os.path.isfile(place):
            if place.endswith(".py"):
                yield read(place)
        elif (archive := _archive_of(place)) is not None:
            yield from _archived(archive, place[len(archive) + 1 :])


def _reader() -> Callable[[str], _Source]:
    """A function that reads one file after another into the same buffer."""
    buffer = bytearray(_BUFFER)
    has_sign = search(buffer, _SIGNS)

    def read(file: str) -> _Source:
        try:
            descriptor = os.open(file, _OPEN)
            try:
                size = os.readv(descriptor, [buffer])
                rest = os.read(descriptor, _BYTES) if size == _BUFFER else b""
            finally:
                os.close(descriptor)
        except OSError:
            return file, 0, b""
        if rest or has_sign(size):
            return file, size + len(rest), bytes(buffer[:size]) + rest
        return file, size, b""

    return read


def _below(folder: str) -> Iterator[str]:
    """The sources below a folder: those that can be imported, in the order of their names."""
    left, folders = _ENTRIES, [folder]
    while folders and left > 0:
        names, deeper = [], []
        try:
            with os.scandir(folders.pop()) as entries:
                for entry in entries:
                    left -= 1
                    if entry.name.endswith(".py"):
                        names.append(entry.path)
                    elif _is_package(entry):
                        deeper.append(entry.path)
                    if left <= 0:
                        break
        except OSError:
            continue
        yield from sorted(names)
        folders += sorted(deeper, reverse=True)


def _is_package(entry: os.DirEntry[str]) -> bool:
    return entry.name.isidentifier() and entry.name != "__pycache__" and entry.is_dir(follow_symlinks=False)


def _archive_of(place: str) -> str | None:
    """The zip file that `place` is in, as zipimport writes it: a file's path, and what follows it."""
    parent = os.path.dirname(place)
    while parent != os.path.dirname(parent):
        if os.path.isfile(parent):
            return parent
        parent = os.path.dirname(parent)
    return None


def _archived(archive: str, inside: str) -> Iterator[_Source]:
    """The sources in a zip file: the member `inside`, or those below the folder of that name."""
    from zipfile import ZipFile

    try:
        with ZipFile(archive) as opened:
            names = opened.namelist()
            below = sorted(name for name in names if name.startswith(f"{inside}/") and name.endswith(".py"))
            for name in [inside] if inside in names else below:
                text = opened.read(name)
                yield os.path.join(archive, name), len(text), text
    except Exception:  # damaged, encrypted, or compressed in a way that this Python does not know
        return
