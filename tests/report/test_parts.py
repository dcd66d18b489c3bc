"""The parts of our pages: everything that comes from outside is escaped, and nothing grows without bounds."""

from __future__ import annotations

import json
from html.parser import HTMLParser

import pytest

from torchada.report import pages
from torchada.report.pages import parts

pytestmark = [pytest.mark.once, pytest.mark.core]

EVIL = "\"><script>alert(1)</script><b x='&amp;"


class Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: list[str] = []

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.seen.append(tag)
        if tag not in ("meta", "input"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def tags(html: str) -> list[str]:
    """The tags of a piece of HTML, all of which are closed."""
    reader = Tags()
    reader.feed(html)
    assert reader.open == []
    return reader.seen


def everything() -> list[str]:
    place = parts.Place(EVIL, EVIL, EVIL)
    return [
        parts.shares([parts.Share("error", 2, EVIL, EVIL), parts.Share("ok", 0, EVIL, EVIL)]),
        parts.switch("error", EVIL),
        parts.group(EVIL, 1, parts.row("error", EVIL, EVIL, EVIL, EVIL, parts.places([place]), 0.5)),
        parts.filtering(EVIL, 3, EVIL, [("error", 0.5)]),
        parts.table([EVIL], [[EVIL]]),
    ]


@pytest.mark.parametrize("number", range(5))
def test_text_from_outside_is_escaped(number: int) -> None:
    assert not {"script", "b"} & set(tags(everything()[number].replace("<b>", "").replace("</b>", "")))


def test_the_page_of_a_tool_is_whole_and_holds_its_data() -> None:
    names = (
        "eyebrow",
        "name",
        "surroundings",
        "question",
        "shares",
        "heading",
        "switches",
        "rows",
        "aside_title",
        "aside",
    )
    found = pages.tool_page(EVIL, {"a": EVIL}, **dict.fromkeys(names, "".join(everything())), footer="")
    assert json.loads(pages.data_of(found)) == {"a": EVIL}
    assert tags(found)[0] == "html" and found.count("<script") == 2


def test_of_many_places_the_first_are_shown() -> None:
    found = parts.places([parts.Place(f"a.py:{line}") for line in range(parts.MOST_PLACES + 7)])
    assert found.count('class="site"') == parts.MOST_PLACES and "and 7 more" in found
