"""Reads preprocessed C++, without comments and macros. Line markers (`# 12 "file.mu"`) say where each line came from."""

from __future__ import annotations

import bisect
import re
from collections.abc import Iterator
from dataclasses import dataclass

_LITERAL = r"""
    (?:u8|[uUL])?R"(?P<fence>[^()\\\s]{0,16})\((?s:.*?)\)(?P=fence)"
  | (?:u8|[uUL])?"(?:[^"\\\n]|\\.)*"
  | (?:u8|[uUL])?'(?:[^'\\\n]|\\.)+'
"""
_TOKEN = re.compile(
    rf"""
    (?P<space>\s+)
  | (?P<line>(?<![^\n])\#[^\n]*)
  | (?P<literal>{_LITERAL})
  | (?P<number>\.?\d(?:'?[\w.]|(?<=[eEpP])[+-])*)
  | (?P<name>[^\W\d][\w$]*)
  | (?P<mark><<<|>>>|::|->|\.\.\.|.)
    """,
    re.VERBOSE,
)
_MARKER = re.compile(r'\n# (\d+) "((?:[^"\\]|\\.)*)"([ \d]*)(?=\n)')
_RAW_STRING = re.compile(r'R"([^()\\\s]{0,16})\((?s:.*?)\)\1"')
_PLAIN_LITERAL = re.compile(r""""(?:[^"\\\n]|\\.)*"|(?<!\w)(?:u8|[uUL])?'(?:[^'\\\n]|\\.)+'""")
_OPEN, _CLOSE = "([{", ")]}"


def is_word_begin(text: str, position: int) -> bool:
    """Return whether a word begins at `position`, rather than the end of a longer one."""
    before = text[position - 1] if position else " "
    return not (before.isalnum() or before in "_$")


def _is_prefix(text: str, position: int) -> bool:
    """Return whether an R begins a raw string. u8, u, U or L may precede it."""
    return any(
        text.endswith(prefix, 0, position) and is_word_begin(text, position - len(prefix))
        for prefix in ("", "u8", "u", "U", "L")
    )


@dataclass(frozen=True)
class Token:
    kind: str  # literal, number, name or mark
    text: str
    begin: int
    end: int


class Source:
    """Preprocessed text, and the origin of its lines."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._raw = [match.span() for match in _RAW_STRING.finditer(text) if _is_prefix(text, match.start())]
        # The first line is a marker too, but no line break precedes it.
        markers = _MARKER.finditer("\n" + text)
        self._markers = [(match.end(), int(match[1]), match[2], match[3]) for match in markers]
        self._marker_ends = [marker[0] for marker in self._markers]

    def place(self, position: int) -> tuple[str, int]:
        """Return the file and line that the text at `position` came from."""
        at = bisect.bisect_right(self._marker_ends, position) - 1
        if at < 0:
            return "<input>", self.text.count("\n", 0, position) + 1
        begin, line, name, _ = self._markers[at]
        return name, line + self.text.count("\n", begin, position)

    def parts(self, system: bool = False) -> Iterator[tuple[str, int, int]]:
        """Yield the files of the text that are system headers, or that are none, with the begin and end of each part from one."""
        ends = [*self._marker_ends[1:], len(self.text)]
        for (begin, _, name, flags), end in zip(self._markers, ends):
            if ("3" in flags.split()) is system:
                yield name, begin, end

    def in_system_header(self, position: int) -> bool:
        at = bisect.bisect_right(self._marker_ends, position) - 1
        return at >= 0 and "3" in self._markers[at][3].split()

    def is_code(self, position: int) -> bool:
        """Return False inside a literal or a directive."""
        at = bisect.bisect_right(self._raw, (position, len(self.text))) - 1
        if at >= 0 and position < self._raw[at][1]:
            return False
        begin = self.text.rfind("\n", 0, position) + 1
        if self.text.startswith("#", begin):
            return False
        before = self.text[begin:position]
        if '"' not in before and "'" not in before:
            return True
        end = self.text.find("\n", position)
        line = self.text[begin : end if end >= 0 else len(self.text)]
        return not any(
            begin + literal.start() < position < begin + literal.end() for literal in _PLAIN_LITERAL.finditer(line)
        )

    def tokens(self, begin: int, end: int | None = None) -> Iterator[Token]:
        """Yield the tokens from `begin` on, without space and directives."""
        stop = len(self.text) if end is None else end
        position = begin
        while position < stop:
            match = _TOKEN.match(self.text, position, stop)
            if match is None:  # the text ends inside a literal
                return
            position = match.end()
            kind = match.lastgroup or ""
            if kind == "fence":
                kind = "literal"
            if kind not in ("space", "line"):
                yield Token(kind, match.group(), match.start(), match.end())

    def statement_begin(self, position: int) -> int:
        """Return the position after the last `;`, `{` or `}` before `position`."""
        while position > 0:
            position = max(self.text.rfind(mark, 0, position) for mark in ";{}")
            if position < 0 or self.is_code(position):
                return position + 1
        return 0


def closing(tokens: list[Token], at: int) -> int:
    """Return the index of the bracket that closes the one at `at`, or len(tokens) if there is none."""
    depth = 0
    for index in range(at, len(tokens)):
        text = tokens[index].text
        if tokens[index].kind != "mark":
            continue
        if text in _OPEN:
            depth += 1
        elif text in _CLOSE:
            depth -= 1
            if depth == 0:
                return index
    return len(tokens)


def until(source: Source, begin: int, marks: str) -> list[Token]:
    """Return the tokens from `begin` up to and including the first of `marks` outside brackets, or [] if there is none."""
    taken: list[Token] = []
    depth = 0
    for token in source.tokens(begin):
        taken.append(token)
        if token.kind != "mark":
            continue
        if depth == 0 and token.text in marks:
            return taken
        if token.text in _OPEN:
            depth += 1
        elif token.text in _CLOSE:
            depth -= 1
            if depth < 0:
                return []
    return []


def bracketed(source: Source, begin: int) -> list[Token]:
    """Return the tokens from the bracket that opens at `begin` to the one that closes it, or [] if none does."""
    taken: list[Token] = []
    depth = 0
    for token in source.tokens(begin):
        taken.append(token)
        if token.kind == "mark" and token.text in _OPEN:
            depth += 1
        elif token.kind == "mark" and token.text in _CLOSE:
            depth -= 1
            if depth == 0:
                return taken
    return []


def split(tokens: list[Token]) -> list[list[Token]]:
    """Split at the commas outside brackets. A `<` after a name opens a bracket too."""
    pieces: list[list[Token]] = [[]]
    depth = angles = 0
    for index, token in enumerate(tokens):
        text = token.text if token.kind == "mark" else ""
        if text == "," and depth == 0 and angles == 0:
            pieces.append([])
            continue
        pieces[-1].append(token)
        if text and text in _OPEN:
            depth += 1
        elif text and text in _CLOSE:
            depth -= 1
        elif depth == 0 and text == "<" and index > 0 and tokens[index - 1].kind == "name":
            angles += 1
        elif depth == 0 and text in (">", ">>>") and angles:
            angles = max(0, angles - len(text))
    return pieces if pieces != [[]] else []
