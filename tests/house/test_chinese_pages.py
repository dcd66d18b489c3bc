"""Chinese pages that are kept level with the English ones: the same headings, tables and blocks of code."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from support.interpreter import ROOT

pytestmark = pytest.mark.once

DOCS = ROOT / "docs"
LEVEL = {
    "zh/first-steps.md": "tutorial/first-steps.md",
    **{
        f"zh/{name}.md": f"how-to/{name}.md"
        for name in (
            "check",
            "check-kernels",
            "extensions",
            "install",
            "monitoring",
            "move-from-0.1",
            "porting",
            "run",
            "troubleshooting",
            "verify",
        )
    },
}


def blocks(page: Path) -> list[str]:
    """The blocks of code, without comments."""
    texts = re.findall(r"^```(\w*\n.*?)^```$", page.read_text(), re.MULTILINE | re.DOTALL)
    return [re.sub(r"\s+#.*", "", block) for block in texts]


def prose(page: Path) -> str:
    return re.sub(r"^```.*?^```$", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)


def headings(page: Path) -> list[int]:
    """The level of each heading, in order."""
    return [len(marks) for marks in re.findall(r"^(#+) ", prose(page), re.MULTILINE)]


def tables(page: Path) -> list[int]:
    """How many columns each row of each table has, in order."""
    return [len(re.findall(r"(?<!\\)\|", line)) for line in prose(page).splitlines() if line.startswith("|")]


def codes(page: Path) -> set[str]:
    """The first cells of rows that begin with a name in backquotes."""
    return set(re.findall(r"^\| (`[\w-]+`)", prose(page), re.MULTILINE))


@pytest.mark.parametrize("chinese", LEVEL)
def test_a_page_has_the_headings_tables_and_code_of_the_english_one(chinese: str) -> None:
    ours, theirs = DOCS / chinese, DOCS / LEVEL[chinese]
    for part in (headings, tables, codes, blocks):
        assert part(ours) == part(theirs), part.__name__  # type: ignore[operator]


def test_each_page_links_to_the_other_language() -> None:
    for chinese, english in LEVEL.items():
        assert f"[English](../{english}) | 中文" in (DOCS / chinese).read_text()
        assert f"({Path(chinese).name})" in (DOCS / "zh" / "index.md").read_text()


def test_links_within_chinese_pages_lead_to_headings() -> None:
    links = [
        (page.name, page.parent / (path or page.name), anchor)
        for page in sorted((DOCS / "zh").glob("*.md"))
        for path, anchor in re.findall(r"\]\(([^)#:\s]*)#([^)\s]+)\)", prose(page))
    ]
    missing = [f"{page}: {target.name}#{anchor}" for page, target, anchor in links if anchor not in anchors(target)]
    assert links and not missing


def anchors(page: Path) -> set[str]:
    """The anchors of a page's headings, as the hosting site makes them."""
    titles = re.findall(r"^#+ (.*)$", prose(page), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", title).lower().replace(" ", "-") for title in titles}
