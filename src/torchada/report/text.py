"""Words and tables for what torchada prints."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime, timezone

_NARROWEST = 24  # of a last column: below that a terminal wraps better than we do


def counted(number: int, noun: str) -> str:
    """A number with its noun: "1 patch", "2,000 patches"."""
    if number == 1:
        return f"1 {noun}"
    return f"{number:,} {noun}{'es' if noun.endswith(('s', 'ch', 'x')) else 's'}"


def moment(seconds: float) -> str:
    """When a report was made."""
    return datetime.fromtimestamp(seconds, timezone.utc).strftime("%Y-%m-%d %H:%M UTC")


def table(
    rows: Iterable[Sequence[str]],
    indent: str = "    ",
    *,
    width: int | None = None,
    numbers: bool = False,
    painted: Callable[[str, int], str] = lambda cell, row: cell,
) -> list[str]:
    """Lines for rows of cells, every column but the last as wide as its longest cell.

    Within a `width` the last column is broken between words; `numbers` stand in the first, to the right; `painted` colours it.
    """
    cells = [list(row) for row in rows]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)][:-1]
    start = len(indent) + sum(widths) + 2 * len(widths)
    lines = []
    for number, (*row, last) in enumerate(cells):
        head = [cell.ljust(column) for cell, column in zip(row, widths, strict=True)]
        if head:
            head[0] = painted(row[0].rjust(widths[0]) if numbers else head[0], number)
        parts = [last] if width is None else _broken(last, max(width - start, _NARROWEST))
        lines.append((indent + "".join(f"{cell}  " for cell in head) + parts[0]).rstrip())
        lines += [(" " * start + part).rstrip() for part in parts[1:]]
    return lines


def _broken(text: str, room: int) -> list[str]:
    """In parts of up to `room` columns; its own line breaks stay. Paths and names are not broken, so that they can be copied."""
    wrapped = (textwrap.wrap(line, room, break_long_words=False, break_on_hyphens=False) for line in text.split("\n"))
    return [part for lines in wrapped for part in lines or [""]]
