"""Pages of HTML that need nothing but themselves: one frame, with a look, a filter of its rows, and the page's data as JSON.

A room that has a page keeps `page.html`, what stands in the frame, and `page.css`, what that adds to the look.
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
    """The page of the room in folder `room`: `parts` fill its page.html, escaped already; `title` is text, `data` JSON can hold."""
    return _template(_FRAME).substitute(
        title=escape(title),
        style=(room / "page.css").read_text(encoding="utf-8"),
        body=_template(room / "page.html").substitute(parts),
        # No "<" within, so that nothing in it can end the script.
        data=json.dumps(data).replace("<", "\\u003c"),
    )


def data_of(text: str) -> str:
    """The JSON within a page. ValueError where there is none."""
    found = _DATA.search(text)
    if found is None:
        raise ValueError("this page holds no report")
    return found[1]


def _template(path: Path) -> Template:
    return Template(path.read_text(encoding="utf-8"))
