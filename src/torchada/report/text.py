"""Words and columns for what torchada prints."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def counted(number: int, noun: str) -> str:
    """A number with its noun: "1 patch", "2,000 patches"."""
    if number == 1:
        return f"1 {noun}"
    return f"{number:,} {noun}{'es' if noun.endswith(('s', 'ch', 'x')) else 's'}"


def columns(rows: Iterable[Sequence[str]], indent: str = "    ") -> list[str]:
    """One line for each row; every column is as wide as its longest entry."""
    table = [list(row) for row in rows]
    widths = [max(map(len, column)) for column in zip(*table, strict=True)] if table else []
    return [
        indent + "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in table
    ]
