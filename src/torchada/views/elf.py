"""The libraries that an ELF file needs: the DT_NEEDED entries of its dynamic section, read without any tool."""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator
from typing import BinaryIO, NamedTuple

_MAGIC = b"\x7fELF"
_LOAD, _DYNAMIC = 1, 2
_END, _NEEDED, _STRINGS = 0, 1, 5
# No more bytes of a table are read, because a damaged file may give any size.
_MOST = 1 << 20


class _Segment(NamedTuple):
    kind: int
    offset: int
    address: int
    size: int


def needed(file: str | os.PathLike[str]) -> list[str]:
    """The names of the libraries that `file` needs; none where it is no ELF file, or a damaged one. Raises OSError."""
    with open(file, "rb") as opened:
        try:
            return list(_needed(opened))
        except (struct.error, UnicodeDecodeError):
            return []


def _needed(file: BinaryIO) -> Iterator[str]:
    head = file.read(64)
    if len(head) < 52 or head[:4] != _MAGIC or head[4] not in (1, 2):
        return
    order, is_64 = "<" if head[5] == 1 else ">", head[4] == 2
    segments = list(_segments(file, head, order, is_64))
    dynamic = next((segment for segment in segments if segment.kind == _DYNAMIC), None)
    if dynamic is None:
        return
    entries = _entries(_at(file, dynamic.offset, dynamic.size), order + ("qQ" if is_64 else "iI"))
    address = next((value for tag, value in entries if tag == _STRINGS), 0)
    strings = next((segment for segment in segments if segment.kind == _LOAD and _holds(segment, address)), None)
    if strings is not None:
        start = strings.offset + address - strings.address
        yield from (_string(file, start + value) for tag, value in entries if tag == _NEEDED)


def _segments(file: BinaryIO, head: bytes, order: str, is_64: bool) -> Iterator[_Segment]:
    """The program headers."""
    start = struct.unpack_from(order + ("Q" if is_64 else "I"), head, 32 if is_64 else 28)[0]
    size, count = struct.unpack_from(order + "HH", head, 54 if is_64 else 42)
    for record in range(count):
        header = _at(file, start + record * size, size)
        if is_64:
            kind, _, offset, address, _, length = struct.unpack_from(order + "IIQQQQ", header)
        else:
            kind, offset, address, _, length = struct.unpack_from(order + "IIIII", header)
        yield _Segment(kind, offset, address, length)


def _entries(section: bytes, form: str) -> list[tuple[int, int]]:
    """The pairs of tag and value before the end of the dynamic section."""
    entries = []
    whole = len(section) // struct.calcsize(form) * struct.calcsize(form)
    for tag, value in struct.iter_unpack(form, section[:whole]):
        if tag == _END:
            break
        entries.append((tag, value))
    return entries


def _holds(segment: _Segment, address: int) -> bool:
    return segment.address <= address < segment.address + segment.size


def _string(file: BinaryIO, offset: int) -> str:
    return _at(file, offset, 256).partition(b"\0")[0].decode()


def _at(file: BinaryIO, offset: int, size: int) -> bytes:
    if not 0 <= offset < 1 << 62:
        raise struct.error("an offset outside of any file")
    return os.pread(file.fileno(), min(size, _MOST), offset)
