"""The parts of our pages: everything that comes from outside is escaped, and nothing grows without bounds."""

from __future__ import annotations

import json
import re
from collections import Counter
from html.parser import HTMLParser

import pytest

from torchada.report import pages
from torchada.report.pages import parts

pytestmark = pytest.mark.once

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
    place = parts.Place(EVIL, EVIL, EVIL, 1, EVIL)
    return [
        parts.shares([parts.Share("error", 2, EVIL, EVIL), parts.Share("ok", 0, EVIL, EVIL)]),
        parts.switch("error", EVIL),
        parts.group(EVIL, 1, parts.row("error", EVIL, EVIL, EVIL, EVIL, parts.places([place]), 0.5, True)),
        parts.filters({EVIL: Counter(error=3)}, {"error": EVIL}),
        parts.table([EVIL], [[EVIL]]),
    ]


@pytest.mark.parametrize("number", range(5))
def test_text_from_outside_is_escaped(number: int) -> None:
    assert not {"script", "b"} & set(tags(everything()[number].replace("<b>", "").replace("</b>", "")))


def test_the_page_of_a_tool_is_whole_and_holds_its_data() -> None:
    names = ("eyebrow", "name", "surroundings", "question", "heading", "aside_title", "footer")
    html = "".join(everything())
    share = parts.Share("error", 1, EVIL, EVIL)
    made = pages.page(
        EVIL,
        {"a": EVIL},
        shares=[share],
        switches={"error": EVIL},
        rows=html,
        aside=html,
        below=html,
        **dict.fromkeys(names, EVIL),
    )
    assert json.loads(pages.data_of(made)) == {"a": EVIL}
    assert tags(made)[0] == "html" and made.count("<script") == 2
    assert made.count("alert(1)") > len(names)


def test_of_many_places_the_first_are_shown() -> None:
    html = parts.places([parts.Place(f"a.py:{line}") for line in range(parts.MOST_PLACES + 7)])
    assert html.count('class="site"') == parts.MOST_PLACES and "and 7 more" in html


def test_the_buttons_with_the_highest_counts_are_shown_first_with_what_they_consist_of() -> None:
    counts = {"src/a.py": Counter(bad=1), "src/b.py": Counter(bad=1, good=3), "src/c.py": Counter(good=2)}
    html = parts.filters(counts, {"bad": "Bad", "good": "Good"}, 2)
    assert re.findall(r'data-query="(.*?)"', html) == ["src/b.py", "src/c.py"] and "<b>b.py</b>" in html
    assert re.findall(r'class="(\w+)" style="width:(.*?)%" title="(.*?)"', html) == [
        ("bad", "25.00", "Bad: 1"),
        ("good", "75.00", "Good: 3"),
        ("good", "50.00", "Good: 2"),
    ]
    assert "None." in parts.filters({}, {})
