"""Pages that speak of several releases of torch_musa have a column for each, and say how each statement is known."""

from __future__ import annotations

import re

import pytest

from musasim.base import release
from support.interpreter import ROOT

pytestmark = pytest.mark.once

REFERENCE = ROOT / "docs" / "reference"
LATER = [name for name in release.VERSIONS if name != "2.7.1"]
KNOWN = r"(as 2\.7\.1|right|claimed right|unknown)\b"


def tables(page: str) -> list[list[list[str]]]:
    """The tables of a page: rows of cells, the titles first, without the line below them."""
    text = (REFERENCE / page).read_text(encoding="utf-8")
    blocks = re.findall(r"(?:^\|.*\n?)+", text, re.MULTILINE)
    rows = [[re.split(r"(?<!\\)\|", line)[1:-1] for line in block.splitlines()] for block in blocks]
    return [[[cell.strip() for cell in row] for row in (table[0], *table[2:])] for table in rows]


def of_operators() -> list[list[list[str]]]:
    return [table for table in tables("vendor-kernels.md") if "torch_musa 2.7.1" in table[0]]


def test_each_table_of_kernels_has_a_column_for_each_release() -> None:
    assert len(of_operators()) == 3
    for titles, *_ in of_operators():
        first = titles.index("torch_musa 2.7.1")
        assert titles[first + 1 : first + 1 + len(LATER)] == LATER


def test_what_is_said_of_a_later_release_is_proven_claimed_or_unknown() -> None:
    said = [row[titles.index(name)] for titles, *rows in of_operators() for row in rows for name in LATER]
    own = {
        "makes the host wait",
        "refused",
    }  # seen in a later release, and not looked for in 2.7.1, or left to muDNN there
    assert len(said) > 80 and [cell for cell in said if not re.match(KNOWN, cell) and cell not in own] == []
    assert {re.match(KNOWN, cell)[1] for cell in said if cell not in own} == {  # type: ignore[index]
        *("as 2.7.1", "right", "claimed right", "unknown")
    }
