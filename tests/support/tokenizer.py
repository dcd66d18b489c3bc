"""A second lexer for C++, written to check the porter's: one character at a time, slow, and without shared code."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

COMMENT, STRING, CHARACTER, NAME, HEADER, NUMBER, MESSAGE = (
    "comment",
    "string",
    "character",
    "name",
    "header",
    "number",
    "message",
)
_NAME_BYTES = frozenset(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_$") | frozenset(
    range(128, 256)
)
_DIGITS = frozenset(b"0123456789")
_RAW = (b"R", b"LR", b"uR", b"UR", b"u8R")


class Token(NamedTuple):
    kind: str
    text: bytes
    start: int


def tokens(data: bytes) -> Iterator[Token]:
    """Every token except punctuation and blanks."""
    at, size, directive, is_line_start = 0, len(data), b"", True
    while at < size:
        byte, two = data[at], data[at : at + 2]
        if two in (b"//", b"/*"):
            end = _line_end(data, at) if two == b"//" else _after(data, b"*/", at + 2)
            yield Token(COMMENT, data[at:end], at)
        elif byte == 0x0A:
            directive, is_line_start, end = b"", True, at + 1
        elif byte == 0x5C and data[at + 1 : at + 2] == b"\n":
            end = at + 2
        elif byte == 0x5C and data[at + 1 : at + 3] == b"\r\n":
            end = at + 3
        elif byte in b"#%" and is_line_start and (byte == 0x23 or two == b"%:"):
            found = re.compile(rb"(?:#|%:)[ \t]*([a-z_]*)").match(data, at)
            assert found is not None
            directive, is_line_start, end = found[1], False, found.end()
            if directive in (b"error", b"warning"):
                yield Token(MESSAGE, data[end : (stop := _line_end(data, end))], end)
                end = stop
        elif byte in b'<"' and directive in (b"include", b"include_next", b"import"):
            end = data.find(b">" if byte == 0x3C else b'"', at + 1) + 1
            if not end or b"\n" in data[at:end]:
                end = at + 1
            else:
                yield Token(HEADER, data[at:end], at)
        elif byte == 0x22 or byte == 0x27:
            end = _literal_end(data, at, byte)
            if end:
                yield Token(STRING if byte == 0x22 else CHARACTER, data[at:end], at)
            end = end or at + 1
        elif byte in _NAME_BYTES:
            end = at
            while end < size and data[end] in _NAME_BYTES:
                end += 1
            word = data[at:end]
            if word in _RAW and data[end : end + 1] == b'"' and (stop := _raw_end(data, end)):
                yield Token(STRING, data[at:stop], at)
                end = stop
            elif byte in _DIGITS:
                while data[end : end + 1] == b"'" and end + 1 < size and data[end + 1] in _NAME_BYTES:
                    end += 1
                    while end < size and data[end] in _NAME_BYTES:
                        end += 1
                yield Token(NUMBER, data[at:end], at)
            else:
                yield Token(NAME, word, at)
        else:
            end = at + 1
        if byte not in b" \t\r\n\v\f\xef\xbb\xbf" and two != b"/*":
            is_line_start = False
        at = end


def _line_end(data: bytes, at: int) -> int:
    while True:
        end = data.find(b"\n", at)
        if end < 0:
            return len(data)
        if data[:end].endswith((b"\\", b"\\\r")) and data[at:end].rstrip(b"\r").endswith(b"\\"):
            at = end + 1
            continue
        return end


def _after(data: bytes, mark: bytes, at: int) -> int:
    end = data.find(mark, at)
    return len(data) if end < 0 else end + len(mark)


def _literal_end(data: bytes, at: int, quote: int) -> int:
    """The end of the literal that begins at `at`, or 0 if its line ends first."""
    at += 1
    while at < len(data):
        if data[at] == 0x5C:
            at += 3 if data[at + 1 : at + 3] == b"\r\n" else 2
        elif data[at] == quote:
            return at + 1
        elif data[at] == 0x0A:
            return 0
        else:
            at += 1
    return 0


def _raw_end(data: bytes, quote: int) -> int:
    opened = re.compile(rb'"([^()\\\s"]{0,16})\(').match(data, quote)
    if opened is None:
        return 0
    end = data.find(b")" + opened[1] + b'"', opened.end())
    return 0 if end < 0 else end + len(opened[1]) + 2
