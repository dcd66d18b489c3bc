"""Whether Python sources ask for the backend. They are read, from folders and from zip files, and never imported."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple

from torchada.views.patterns import search
from torchada.views.prose import without_prose

if TYPE_CHECKING:
    from torchada.backends.descriptor import Backend


# What a program asks torchada that has a branch for each platform.
_OF_TORCHADA = r"torchada(?:\.|[ \t]+import[ \t][^\n]*\b)(?:detect_platform|get_platform|is_cuda_platform|Platform)"


class Words:
    """The words by which a source shows that it knows a backend: `adapter` is the name of its package, `name` its device type,
    `vendor` another word, if there is one.

    Each of them asks for the backend: by its module, its version, a question (`is_musa_available`), or a device string. Whole
    words: the bare letters occur by chance (setNumThreads contains mthreads). The name of torchada alone is none, because a program
    for CUDA may import it.
    """

    def __init__(self, adapter: str = "torch_musa", name: str = "musa", vendor: str = "MooreThreads") -> None:
        whole = [adapter, f"torch.{name}", f"version.{name}", vendor]
        words = "|".join(map(re.escape, filter(None, whole)))
        questions = rf"is_(?:torch_)?{name}(?:_\w+)?|{_OF_TORCHADA}"
        self.pattern = rf"\b(?:{words}|{questions})\b|([\"']){name}(?::\d*\1|\1|:\{{)".encode()
        # Every mention contains one of these, and plain bytes are found faster.
        self.signs = tuple(sign.encode() for sign in (name, vendor, "torchada") if sign)
        self.mention = re.compile(self.pattern)
        self.shown = name.upper()

    @classmethod
    def of(cls, backend: Backend) -> Words:
        """The words for `backend`. Where the device is a name for the CPU, code that knows MUSA knows other devices."""
        return MUSA if backend.computes_on else cls(backend.adapter, backend.device_type, backend.names.vendor)


MUSA = Words()
_FILES, _BYTES = 5000, 64 << 20
# Folders of data may lie among the sources, with any number of files.
_ENTRIES = 100_000
_BUFFER = 1 << 19
# A pipe called x.py must not make us wait for a writer.
_OPEN = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK


class Mention(NamedTuple):
    """The first mention of the backend that was found."""

    file: str
    line: int
    word: str


def find(places: Iterable[str], words: Words = MUSA) -> Mention | None:
    """The first mention in the files and folders `places`, within 5,000 files and 64 MiB; what cannot be read is passed over."""
    size = 0
    for count, (file, length, text) in enumerate(_sources(places, words), 1):
        place = mention(text, words) if text else None
        if place is not None:
            return Mention(file, *place)
        size += length
        if count >= _FILES or size >= _BYTES:
            return None
    return None


def exists(place: str) -> bool:
    """Whether there is something to search: a folder, a source, or a place in a zip file."""
    return os.path.isdir(place) or (place.endswith(".py") and os.path.isfile(place)) or _archive_of(place) is not None


def mention(text: bytes, words: Words = MUSA) -> tuple[int, str] | None:
    """The line and the word of the first mention of the backend in a source, outside of what is written for people to read."""
    if not any(sign in text for sign in words.signs) or not words.mention.search(text):
        return None
    code = without_prose(text)
    match = words.mention.search(code)
    return (code.count(b"\n", 0, match.start()) + 1, match[0].decode().strip("\"'{:")) if match else None


# A source: its file, how many bytes it has, and its text, empty where no sign is in it.
_Source = tuple[str, int, bytes]


def _sources(places: Iterable[str], words: Words) -> Iterator[_Source]:
    read = _reader(words)
    for place in places:
        if os.path.isdir(place):
            yield from map(read, _below(place))
        elif os.path.isfile(place):
            if place.endswith(".py"):
                yield read(place)
        elif (archive := _archive_of(place)) is not None:
            yield from _archived(archive, place[len(archive) + 1 :])


def _reader(words: Words) -> Callable[[str], _Source]:
    """A function that reads one file after another into the same buffer."""
    buffer = bytearray(_BUFFER)
    has_sign = search(buffer, words.signs)

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
    except RecursionError:  # of the program that asks
        raise
    except Exception:  # damaged, encrypted, or compressed in a way that this Python does not know
        return
