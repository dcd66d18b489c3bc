"""Each command that a page shows is run by a test, or shown_commands.toml says why none runs it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.interpreter import ROOT

try:
    import tomllib
except ImportError:  # Python 3.10
    import tomli as tomllib

pytestmark = pytest.mark.once

LIST = tomllib.loads((Path(__file__).parent / "shown_commands.toml").read_text(encoding="utf-8"))["page"]
PAGES = {row["file"]: {**row.get("tests", {}), **row.get("not_run", {})} for row in LIST}
ENGLISH = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def _shown(page: Path) -> Iterator[str]:
    """The commands of a page's blocks of shell, without comments."""
    for block in re.findall(r"^```(?:sh|shell)\n(.*?)^```", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL):
        for line in block.replace("\\\n", " ").splitlines():
            command = re.sub(r"(^|\s+)#.*", "", line).strip()
            if command:
                yield command


def _row(command: str, rows: dict[str, str]) -> str | None:
    """The row of a command: the longest that it begins with."""
    return max((begin for begin in rows if command.startswith(begin)), key=len, default=None)


def _pages() -> Iterator[tuple[str, list[str]]]:
    for page in ENGLISH:
        name = str(page.relative_to(ROOT))
        shown = [] if "/zh/" in name or name.endswith("_CN.md") else list(_shown(page))
        if shown:
            yield name, shown


def test_every_command_has_a_row() -> None:
    missing = [
        f"{name}: {command}"
        for name, shown in _pages()
        for command in shown
        if _row(command, PAGES.get(name, {})) is None
    ]
    assert not missing


def test_every_row_is_of_a_command_that_is_shown() -> None:
    used = {(name, _row(command, PAGES.get(name, {}))) for name, shown in _pages() for command in shown}
    assert [(name, row) for name, rows in PAGES.items() for row in rows if (name, row) not in used] == []


@pytest.mark.parametrize("named", sorted({test for row in LIST for test in row.get("tests", {}).values()}))
def test_the_test_that_a_row_names_is_there(named: str) -> None:
    file, _, function = named.partition("::")
    assert (ROOT / file).is_file()
    assert not function or re.search(rf"^def {function}\(", (ROOT / file).read_text(encoding="utf-8"), re.MULTILINE)


def test_every_reason_is_a_sentence_for_readers() -> None:
    reasons = [why for row in LIST for why in row.get("not_run", {}).values()]
    assert reasons and all(len(why.split()) > 1 for why in reasons)
