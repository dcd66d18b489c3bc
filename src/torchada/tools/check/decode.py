"""Python sources as text and as syntax trees: in any encoding, and out of notebooks."""

from __future__ import annotations

import ast
import codecs
import io
import json
import re
import tokenize
import warnings
from collections.abc import Callable, Iterator
from json.decoder import scanstring  # type: ignore[attr-defined]
from typing import Any, NamedTuple

_MAGIC = re.compile(r"^(\s*(?:[\w.]+\s*=\s*(?=[%!]))?)([%!?])")  # also a = !command
# Blanks at the start of a line, and not line ends: a search from each empty line would pass over all that follow.
_PYTHON_2 = re.compile(r"^[^\S\n]*(?:print\s+[\"'\w]|exec\s+[\"'])|except \w+, \w+:", re.M)
_OF_HOSTS = ("idna", "punycode")  # their decoders take time that grows with the square of the size


class Text(NamedTuple):
    """A decoded source; `problem` says what was wrong with its bytes, if anything."""

    text: str
    problem: str = ""


def decode(data: bytes) -> Text:
    """The text of a Python source, by its own declaration; bytes that do not fit it become U+FFFD."""
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
    except (SyntaxError, LookupError, ValueError) as error:
        return Text(_universal(data.decode("utf-8", "replace")), f"its encoding is not understood: {error}")
    try:
        if codecs.lookup(encoding).name in _OF_HOSTS:
            raise LookupError("no source is written in it")
        return Text(_universal(data.decode(encoding)))
    except (ValueError, LookupError) as error:
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
        hint = "; it looks like Python 2" if _PYTHON_2.search(text) else ""
        return None, f"line {error.lineno}: {error.msg}{hint}"
    except (ValueError, RecursionError, MemoryError) as error:
        return None, str(error) or type(error).__name__


def notebook(data: bytes) -> tuple[str, Callable[[int], int]]:
    """The code cells of a notebook as one source, and for each of its lines the line of the file. ValueError where it is none.

    Lines of other languages (%magic, !command) become comments.
    """
    raw = data.decode("utf-8")
    cells = json.loads(raw).get("cells", [])
    strings, lines, places, place = _strings(raw), [], [], 1
    for text in (text for cell in cells for text in _code(cell)):
        place = next((line for line, string in strings if string == text), place)
        rows = text.removesuffix("\n").split("\n")
        lines += [_MAGIC.sub(r"\1None  # \2", row) for row in rows]
        places += [place] * len(rows)
    return "\n".join(lines), lambda line: places[min(line, len(places)) - 1] if places else 1


def _code(cell: dict[str, Any]) -> list[str]:
    """The strings that a cell of code consists of."""
    source = cell.get("source", "")
    texts = source if isinstance(source, list) else [source]
    is_magic = bool(texts) and texts[0].startswith("%%") and not texts[0].startswith("%%time")
    return [] if cell.get("cell_type") != "code" or is_magic else texts


def _strings(document: str) -> Iterator[tuple[int, str]]:
    """The strings of a text in JSON that has been understood, in their order, each with its line."""
    line, counted = 1, 0
    while (start := document.find('"', counted)) >= 0:
        line += document.count("\n", counted, start)
        string, counted = scanstring(document, start + 1)
        yield line, string
