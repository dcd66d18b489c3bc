"""Whether Python sources mention MUSA. They are read and never imported."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

# Whole words: the bare letters occur by chance (setNumThreads contains mthreads).
_MENTION = re.compile(rb"\b(?:torch_musa|torch\.musa|is_musa|MooreThreads|torchada)\b|\"musa\"|'musa'")
# Every mention contains one of these, and a search for plain bytes is ten times as fast.
_SIGNS = (b"musa", b"MooreThreads", b"torchada")
_FILES, _BYTES = 5000, 64 << 20


class Mention(NamedTuple):
    """The first mention of MUSA that was found."""

    file: str
    line: int
    word: str


def find(places: Iterable[str]) -> Mention | None:
    """The first mention in the files and folders `places`, within 5,000 files and 64 MiB; what cannot be read is passed over."""
    size = 0
    for count, file in enumerate(_python_files(places)):
        text = _read(file)
        size += len(text)
        found = mention(text)
        if found is not None:
            return Mention(file, *found)
        if count >= _FILES or size > _BYTES:
            return None
    return None


def mention(text: bytes) -> tuple[int, str] | None:
    """The line and the word of the first mention of MUSA in a source."""
    if not any(sign in text for sign in _SIGNS):
        return None
    found = _MENTION.search(text)
    return (text.count(b"\n", 0, found.start()) + 1, found[0].decode().strip("\"'")) if found else None


def _python_files(places: Iterable[str]) -> Iterator[str]:
    for place in places:
        if place.endswith(".py"):
            yield place
        elif os.path.isdir(place):
            for folder, folders, files in os.walk(place):
                folders[:] = sorted(name for name in folders if name != "__pycache__")
                yield from (os.path.join(folder, name) for name in sorted(files) if name.endswith(".py"))


def _read(file: str) -> bytes:
    try:
        with open(file, "rb") as opened:
            return opened.read(_BYTES)
    except OSError:
        return b""
