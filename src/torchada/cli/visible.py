"""What our commands print changes a terminal by their own colours alone: names of files and messages of others are only text."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import Any, TextIO

from torchada.report.terminal import CODES, FRESH_LINE

_OURS = "|".join(
    re.escape(sequence) for sequence in (*(f"\033[{code}m" for code in ("0", *CODES.values())), FRESH_LINE)
)
# Control characters, marks that turn the direction of writing around, and bytes of a name that are no text.
_HIDDEN = r"\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff"
_EITHER = re.compile(f"{_OURS}|([{_HIDDEN}])")


def visible(text: str) -> str:
    """The text with what could change a terminal as an escape, except our own sequences."""
    return _EITHER.sub(lambda match: _escape(match[1]) if match[1] else match[0], text)


@contextmanager
def streams() -> Iterator[None]:
    """Print in this way meanwhile. Bytes that are written to a stream's buffer are not looked at.

    A process that was started with a closed stream (`>&-`) prints into nothing: Python has None for it.
    """
    before = sys.stdout, sys.stderr
    with _nothing() if None in before else nullcontext() as nothing:
        sys.stdout, sys.stderr = (_of(stream or nothing) for stream in before)
        try:
            yield
        finally:
            sys.stdout, sys.stderr = before


class _Visible:
    """A text stream in every respect but `write`."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        return self._stream.write(visible(text))


def _nothing() -> TextIO:
    """A program that takes this process's place does not get it."""
    return open(os.devnull, "w", encoding="utf-8", errors="backslashreplace")


def _of(stream: TextIO | None) -> Any:
    return stream if stream is None else _Visible(stream)


def _escape(character: str) -> str:
    return (
        character.encode("ascii", "backslashreplace").decode() if ord(character) > 127 else f"\\x{ord(character):02x}"
    )
