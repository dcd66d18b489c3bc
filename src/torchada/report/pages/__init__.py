"""Self-contained HTML pages: one frame, with a style, a filter for rows, and the page's data as JSON.

A package that has a page keeps `page.html`, the content of the frame, and `page.css`, its additions to the style. Tools that
list what they have found share one content, `tool_page`; its rows are made by `parts`.
"""

from __future__ import annotations

import json
import re
from html import escape
from pathlib import Path
from string import Template

_FRAME = Path(__file__).with_name("frame.html")
_DATA = re.compile(r'<script type="application/json" id="report">(.*?)</script>', re.DOTALL)


def page(room: Path, title: str, data: object, **parts: str) -> str:
    """The page in the folder `room`: `parts`, already escaped, fill its page.html; `title` is plain text, `data` becomes JSON."""
    return _framed(room / "page.html", title, data, parts)


def tool_page(title: str, data: object, **parts: str) -> str:
    """The page of a tool that lists what it has found. `parts`, already escaped, fill tool.html: see there."""
    return _framed(_FRAME.with_name("tool.html"), title, data, parts)


def _framed(content: Path, title: str, data: object, parts: dict[str, str]) -> str:
    return _template(_FRAME).substitute(
        title=escape(title),
        style=content.with_suffix(".css").read_text(encoding="utf-8"),
        body=_template(content).substitute(parts),
        # It must not contain "<", so that nothing in it can end the script.
        data=json.dumps(data).replace("<", "\\u003c"),
    )


def data_of(text: str) -> str:
    """The JSON within a page. Raises ValueError where there is none."""
    found = _DATA.search(text)
    if found is None:
        raise ValueError("this page contains no report")
    return found[1]


def _template(path: Path) -> Template:
    return Template(path.read_text(encoding="utf-8"))
