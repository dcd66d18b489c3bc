"""What C++ is made of, as far as a porter must know it: completes what the expression of `tokens` only begins.

A quote that nothing closes in its line is no literal; such text stands in parts that the preprocessor skips.

**Time is linear in the size of the source, whatever it holds.** `Lexer` looks for the end of literals that are longer than the
expression looks, each time in another part of the text, because it remembers up to where a quote is known to be open, and where the
last end of a raw string is.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from torchada.porting.tokens import (
    APOSTROPHE,
    ASKED,
    COMMENT,
    DELIMITER,
    DIGRAPH,
    HEADER,
    PAIR,
    QUOTE,
    RAW,
    SEPARATOR,
    STRING,
    WORD,
)

_PATHS = (HEADER, ASKED, DIGRAPH)
# 256 at a time, because the engine keeps a record of each repetition until it has them all.
_MORE = {
    stop: re.compile(rb"[^%b\\\n]*(?:" % stop + PAIR + rb"[^%b\\\n]*){0,256}" % stop) for stop in (b"", b'"', b"'")
}
_RAW_END = re.compile(rb'\)([^()\\\s"]{0,16})"')


def end_of_line(text: bytes, at: int, stop: bytes = b"") -> int:
    """Where the line that `at` is in ends, or an unescaped `stop` stands in it. A backslash at its end continues a line."""
    more = _MORE[stop]
    while (run := more.match(text, at)) is not None:
        if run.end() == at or text[run.end() : run.end() + 1] != b"\\":
            return run.end()
        at = run.end()
    return at


_IS_NAME = [value >= 0x80 or bytes([value]).isalnum() or value in b"_$" for value in range(256)]


class Lexer:
    """The tokens of one source. `pattern` is one that `tokens` made."""

    def __init__(self, pattern: re.Pattern[bytes], text: bytes) -> None:
        self._pattern = pattern
        self._text = text
        # Up to where nothing closes a quote. One in between is escaped, so what follows it is read in the same pairs of bytes.
        self._open_until = {b'"': 0, b"'": 0}
        self._separator = -1
        self._raw_ends: dict[bytes, int] | None = None

    def __iter__(self) -> Iterator[tuple[int, int, int]]:
        """The group, start and end of each token that has one: of paths and raw strings alone, otherwise of all that matched."""
        at: int | None = 0
        while at is not None:
            matches, at = self._pattern.finditer(self._text, at), None
            for token in matches:
                group = token.lastindex
                if group is None:
                    continue
                if group >= WORD or group == STRING:
                    start, end = token.span()
                    yield group, start, end
                elif group > APOSTROPHE:
                    start, end = token.span(group if group in _PATHS else 0)
                    yield group, start, end
                else:
                    literal, at = self._long(group, token)
                    if literal is not None:
                        yield literal
                    if at is not None:
                        break

    def _long(self, group: int, token: re.Match[bytes]) -> tuple[tuple[int, int, int] | None, int | None]:
        """What begins at `token`, and where to go on unless behind it."""
        if group == COMMENT:
            return None, end_of_line(self._text, token.end())
        if group == DELIMITER:
            end = self._raw_end(token[DELIMITER], token.end())
            if end is not None:
                return (RAW, token.end(), end), end + len(token[DELIMITER]) + 2
        if group == SEPARATOR and self._separates(token.start()):
            return None, None
        literal, at = self._quoted(token.start(), b'"' if group in (DELIMITER, QUOTE) else b"'")
        return literal, token.start() + 1 if group == DELIMITER and at is None else at

    def _separates(self, at: int) -> bool:
        """Whether the apostrophe at `at` separates digits, as in 1'000'000, and opens no character.

        It does where the word before it begins with a digit, or begins behind an apostrophe that separates digits.
        """
        first = at
        while first and _IS_NAME[self._text[first - 1]]:
            first -= 1
        is_number = self._text[first : first + 1].isdigit() or first == self._separator + 1
        if is_number:
            self._separator = at
        return is_number

    def _raw_end(self, delimiter: bytes, at: int) -> int | None:
        if self._raw_ends is not None and self._raw_ends.get(delimiter, -1) < at:
            return None
        end = self._text.find(b")" + delimiter + b'"', at)
        if end < 0:
            self._raw_ends = {closing[1]: closing.start() for closing in _RAW_END.finditer(self._text)}
        return None if end < 0 else end

    def _quoted(self, start: int, quote: bytes) -> tuple[tuple[int, int, int] | None, int | None]:
        if start < self._open_until[quote]:
            return None, None
        end = end_of_line(self._text, start + 1, quote)
        if self._text[end : end + 1] != quote:
            self._open_until[quote] = end
            return None, None
        return (STRING, start, end + 1) if quote == b'"' else None, end + 1
