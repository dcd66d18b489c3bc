"""Text that fits the terminal, with colour where somebody looks at one."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Sequence
from typing import TextIO

from torchada.base import settings
from torchada.report.severity import ERROR, NOTE, OK, WARNING
from torchada.report.text import table

CODES = {ERROR: "1;31", WARNING: "33", NOTE: "36", OK: "32", "title": "1", "soft": "2"}
FRESH_LINE = "\r\033[K"  # the line is written anew
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
        return f"\033[{CODES[look]}m{text}\033[0m" if self._in_colour and look in CODES else text

    def table(self, rows: Iterable[Sequence[str]], indent: str = "    ", looks: Sequence[str] = ()) -> list[str]:
        """Lines for rows of cells, as wide as the terminal; `looks` paints the first cells."""

        def painted(cell: str, row: int) -> str:
            return self.painted(cell, looks[row]) if looks else cell

        return table(rows, indent, width=self.width, painted=painted)
