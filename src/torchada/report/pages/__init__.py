"""Self-contained HTML pages: one for every tool, with a style, a filter for rows, and the page's data as JSON.

`parts` makes what stands in it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from string import Template

from torchada.report.pages import parts

_PAGE = Path(__file__).with_name("page.html")
_DATA = re.compile(r'<script type="application/json" id="report">(.*?)</script>', re.DOTALL)


def page(
    title: str,
    data: object,
    *,
    shares: Sequence[parts.Share],
    switches: Mapping[str, str],
    rows: str,
    aside: str,
    below: str = "",
    **texts: str,
) -> str:
    """The page of a tool. `texts` fill page.html; `rows`, `aside` and `below` are HTML already; `data` becomes JSON.

    `switches` has the looks of rows that can be hidden, and their names.
    """
    return Template(_PAGE.read_text(encoding="utf-8")).substitute(
        {name: escape(text) for name, text in texts.items()},
        title=escape(title),
        shares=parts.shares(shares),
        switches="".join(parts.switch(look, name) for look, name in switches.items()),
        rows=rows,
        aside=aside,
        below=below,
        # It must not contain "<", so that nothing in it can end the script.
        data=json.dumps(data).replace("<", "\\u003c"),
    )


def data_of(text: str) -> str:
    """The JSON within a page. Raises ValueError where there is none."""
    match = _DATA.search(text)
    if match is None:
        raise ValueError("this page contains no report")
    return match[1]
