"""Sources as text: Python in any encoding, and lines of what cannot be parsed."""

from __future__ import annotations

import ast
import io
import json
import re
import tokenize
import warnings
from collections.abc import Callable, Iterator
from typing import NamedTuple

from torchada.report.answers import MEANINGS, SEVERITIES
from torchada.report.severity import NOTE
from torchada.tools.check.apis import table
from torchada.tools.check.classify import QUESTIONS, Source
from torchada.tools.check.findings import API, DEVICE, QUESTION, Finding

# Where CUDA is named in a line that cannot be parsed. Comments are left out; strings are not told apart from code.
_NAMED = re.compile(
    r"\btorch\.(?:cuda|backends\.cuda|backends\.cudnn|version\.cuda)(?:\.\w+)*|\.cuda\(|[\"']cuda(?::\d+)?[\"']"
)
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


def by_lines(source: Source) -> Iterator[Finding]:
    """What names CUDA in a source that cannot be parsed, found line by line and without aliases."""
    for number, line in enumerate(source.lines, 1):
        code = line.partition("#")[0]
        for found in _NAMED.finditer(code):
            word = found[0]
            answer = table().find(word) if word.startswith("torch") else table().device
            if word == ".cuda(":
                answer = table().attributes["cuda"]
            if answer is None or word in table().modules:
                continue
            rule, column = DEVICE if word[0] in "\"'" else API, found.start() + 1
            answer = answer._replace(api='"cuda"') if rule == DEVICE else answer
            place = Finding(
                rule, SEVERITIES[answer.kind], answer.api, MEANINGS[answer.kind], source.file, number, column
            )
            if answer.api in QUESTIONS:
                place = place._replace(rule=QUESTION, severity=NOTE, message=source.asked, view=source.view)
            yield place._replace(end=found.end() + 1, kind=answer.kind, to=answer.to, source=line.strip()[:200])


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
            found = raw.find(json.dumps(row, ensure_ascii=False), at)
            found = raw.find(json.dumps(row), at) if found < 0 else found
            at = found if found >= 0 else at
            lines.append(_MAGIC.sub(r"\1None  # \2", row.rstrip("\n")))
            places.append(raw.count("\n", 0, at) + 1)
    return "\n".join(lines), lambda line: places[min(line, len(places)) - 1] if places else 1
