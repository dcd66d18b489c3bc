"""Inline assembler: PTX is NVIDIA's, and is reported with the instruction it begins with."""

from __future__ import annotations

import re

from torchada.porting.lexer import end_of_line

_OPENED = re.compile(rb"\s*(?:(?:volatile|__volatile__|goto|inline|\\\r?\n)\s*){0,64}\(")
_BLANK = re.compile(rb"\s+|\\\r?\n|//[^\n]*|/\*.*?\*/")
_NAME = re.compile(rb"[A-Za-z_#]")
_INSTRUCTION = re.compile(rb"(?:^|[\s;{}])(?:@!?%?\w+\s+)?\.?([a-z][a-z0-9_]*(?:\.[a-z0-9_:]+)+)")
_WORD = re.compile(rb"[a-z][\w.]*")

REASON = "PTX is NVIDIA's assembler; MUSA has no counterpart"


def ptx(text: bytes, end: int) -> str | None:
    """What the statement after the keyword `asm` ending at `end` begins with; None where it is empty or another processor's."""
    opened = _OPENED.match(text, end)
    if opened is None:
        return None
    template, end = _template(text, opened.end())
    instruction = _INSTRUCTION.search(template)
    if instruction is not None:
        return instruction[1].decode("ascii", "replace")
    if _NAME.match(text, end):  # put together by macros
        return "asm"
    return None


def _template(text: bytes, at: int) -> tuple[bytes, int]:
    """The string literals from `at` on, joined, and where they end."""
    parts = []  # one by one: an expression for all of them would keep a record of each
    while True:
        blank = _BLANK.match(text, at)
        end = at if blank else end_of_line(text, at + 1, b'"')
        if blank is not None:
            at = blank.end()
        elif text[at : at + 1] == b'"' == text[end : end + 1]:
            parts.append(text[at + 1 : end])
            at = end + 1
        else:
            return b"".join(parts).replace(rb"\n", b" ").replace(rb"\t", b" "), at
