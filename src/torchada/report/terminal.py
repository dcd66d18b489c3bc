"""Text that fits the terminal, with colour where somebody looks at one."""

from __future__ import annotations

import shutil
import textwrap
from collections.abc import Iterable, Sequence
from typing import TextIO

from torchada.base import settings
from torchada.report.severity import ERROR, NOTE, OK, WARNING

_CODES = {ERROR: "1;31", WARNING: "33", NOTE: "36", OK: "32", "title": "1", "soft": "2"}
_NARROWEST = 24  # of a last column: below that a terminal wraps better than we do
_WIDE = 120  # where nobody looks, lines are for people who open the file later


class Terminal:
    """How to write to one stream. Piped output, NO_COLOR and a terminal called "dumb" get no colour."""

    def __init__(self, stream: TextIO) -> None:
        self._is_terminal = stream.isatty()
        plain = settings.of_others("NO_COLOR") or settings.of_others("TERM") == "dumb"
        self._in_colour = self._is_terminal and not plain

    @property
    def width(self) -> int:
        """Columns of the terminal; a fixed number where the output is piped."""
        return shutil.get_terminal_size((_WIDE, 24)).columns if self._is_terminal else _WIDE

    def painted(self, text: str, look: str) -> str:
        """The text in the colour of a severity, or as a "title", or "soft"."""
        return f"\033[{_CODES[look]}m{text}\033[0m" if self._in_colour and look in _CODES else text

    def table(self, rows: Iterable[Sequence[str]], indent: str = "    ", looks: Sequence[str] = ()) -> list[str]:
        """Lines for rows of cells. The last column is broken between words to fit; `looks` paints the first cells."""
        cells = [list(row) for row in rows]
        widths = [max(map(len, column)) for column in zip(*cells, strict=True)][:-1] if cells else []
        start = len(indent) + sum(widths) + 2 * len(widths)
        lines = []
        for number, row in enumerate(cells):
            first = [cell.ljust(width) for cell, width in zip(row, widths)]
            if looks and first:
                first[0] = self.painted(first[0], looks[number])
            head = indent + "".join(f"{cell}  " for cell in first)
            lines += [line.rstrip() for line in self._wrapped(row[-1], head, start)]
        return lines

    def _wrapped(self, text: str, head: str, start: int) -> list[str]:
        """The text behind `head`, which is `start` columns wide; its own line breaks stay."""
        room = max(self.width - start, _NARROWEST)
        parts = [part for line in text.split("\n") for part in _broken(line, room)] or [""]
        return [head + parts[0], *(" " * start + part for part in parts[1:])]


def _broken(line: str, room: int) -> list[str]:
    """A line in parts of up to `room` columns. Paths and names are not broken, so that they can be copied."""
    return textwrap.wrap(line, room, break_long_words=False, break_on_hyphens=False) or [""]
