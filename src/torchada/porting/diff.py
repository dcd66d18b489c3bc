"""What porting changed in a source, as a unified diff, in time that is in proportion to its size.

A ported source has the lines of the original in their order, below those that were put before the first. No algorithm has to
search for what corresponds to what.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from io import BytesIO

_CONTEXT = 3
_NO_NEWLINE = b"\n\\ No newline at end of file\n"


def unified(before: bytes, after: bytes, old_name: bytes, new_name: bytes) -> Iterator[bytes]:
    """The lines of the diff, in the encoding of the source; none where nothing changed.

    ValueError where `after` has fewer lines than `before`, which no port has.
    """
    old, new = BytesIO(before).readlines(), BytesIO(after).readlines()
    added = len(new) - len(old)
    if added < 0:
        raise ValueError(f"{len(old)} lines have become {len(new)}")
    changed = [at for at, line in enumerate(old) if line != new[at + added]]
    if not changed and not added:
        return
    yield b"--- " + quoted(old_name) + b"\n"
    yield b"+++ " + quoted(new_name) + b"\n"
    for start, stop in _shown([-1, *changed] if added else changed, len(old)):
        yield from _hunk(old, new, start, stop, added)


def quoted(name: bytes) -> bytes:
    """The name of a file as git shows it, which `patch` understands: in quotes, with escapes, where it could change a terminal.

    Letters of any script stay; control characters and marks that turn the direction of writing around do not.
    """
    text = os.fsdecode(name)
    if text.isprintable() and '"' not in text and "\\" not in text:
        return name
    return b'"' + b"".join(map(_escaped, text)) + b'"'


def _escaped(character: str) -> bytes:
    if character in '"\\':
        return b"\\" + character.encode()
    data = os.fsencode(character)
    return data if character.isprintable() else b"".join(b"\\%03o" % byte for byte in data)


def _shown(changed: list[int], length: int) -> Iterator[tuple[int, int]]:
    """The lines of the original that the hunks show, from and up to; -1 stands for what is before the first."""
    start, stop = max(0, changed[0] - _CONTEXT), changed[0] + 1 + _CONTEXT
    for at in changed[1:]:
        if at - _CONTEXT > stop:
            yield start, stop
            start = at - _CONTEXT
        stop = at + 1 + _CONTEXT
    yield start, min(stop, length)


def _hunk(old: list[bytes], new: list[bytes], start: int, stop: int, added: int) -> Iterator[bytes]:
    first = 0 if start == 0 else start + added
    yield b"@@ -%b +%b @@\n" % (_range(start, stop), _range(first, stop + added))
    yield from _marked(b"+", new[first : start + added])
    at = start
    while at < stop:
        end = at
        while end < stop and old[end] != new[end + added]:
            end += 1
        yield from _marked(b"-", old[at:end])
        yield from _marked(b"+", new[at + added : end + added])
        yield from _marked(b" ", old[end : end + 1] if end < stop else [])
        at = end + 1


def _range(start: int, stop: int) -> bytes:
    count = stop - start
    return b"%d" % (start + 1) if count == 1 else b"%d,%d" % (start + (count > 0), count)


def _marked(mark: bytes, lines: list[bytes]) -> Iterator[bytes]:
    for line in lines:
        yield mark + (line if line.endswith(b"\n") else line + _NO_NEWLINE)
