"""Python sources as text and as syntax trees: in any encoding, and out of notebooks."""

from __future__ import annotations

import ast
import io
import json
import re
import tokenize
import warnings
from collections.abc import Callable
from typing import NamedTuple

_MAGIC = re.compile(r"^(\s*(?:[\w.]+\s*=\s*(?=[%!]))?)([%!?])")  # also a = !command


class Text(NamedTuple):
    """A decoded source; `problem` says what was wrong with its bytes, if anything."""

    text: str
    problem: str = ""


def decode(data: bytes) -> Text:
    """The text of a Python source, by its own declaration; bytes that do not fit it become U+FFFD."""
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
    except (SyntaxError, LookupError, UnicodeDecodeError) as error:
        return Text(_universal(data.decode("utf-8", "replace")), f"its encoding is not understood: {error}")
    try:
        return Text(_universal(data.decode(encoding)))
    except (UnicodeDecodeError, LookupError) as error:
        return Text(_universal(data.decode("latin-1")), f"it is not {encoding}: {error}; it was read as latin-1")


def _universal(text: str) -> str:
    text = text[1:] if text.startswith("\ufeff") else text
    return text.replace("\r\n", "\n").replace("\r", "\n")


def count(text: str) -> int:
    """How many lines a text has, as `wc -l` counts them, and one more where the last has no end."""
    return text.count("\n") + (not text.endswith("\n") and text != "")


def parse(text: str) -> tuple[ast.Module | None, str]:
    """The syntax tree; None and the reason where there is none."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(text), ""
    except SyntaxError as error:
        hint = (
            "; it looks like Python 2"
            if re.search(r"^\s*(?:print\s+[\"'\w]|exec\s+[\"'])|except \w+, \w+:", text, re.M)
            else ""
        )
        return None, f"line {error.lineno}: {error.msg}{hint}"
    except (ValueError, RecursionError, MemoryError) as error:
        return None, str(error) or type(error).__name__


def notebook(data: bytes) -> tuple[str, Callable[[int], int]]:
    """The code cells of a notebook as one source, and for each of its lines the line of the file. ValueError where it is none.

    Lines of other languages (%magic, !command) become comments.
    """
    raw = data.decode("utf-8")
    cells = json.loads(raw).get("cells", [])
    at, lines, places = 0, [], []
    for cell in cells:
        source = cell.get("source", "")
        rows = source if isinstance(source, list) else source.splitlines(keepends=True)
        if cell.get("cell_type") != "code" or (rows and rows[0].startswith("%%") and not rows[0].startswith("%%time")):
            continue
        for row in rows:
            place = raw.find(json.dumps(row, ensure_ascii=False), at)
            place = raw.find(json.dumps(row), at) if place < 0 else place
            at = place if place >= 0 else at
            lines.append(_MAGIC.sub(r"\1None  # \2", row.rstrip("\n")))
            places.append(raw.count("\n", 0, at) + 1)
    return "\n".join(lines), lambda line: places[min(line, len(places)) - 1] if places else 1
