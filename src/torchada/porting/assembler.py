"""Inline assembler: PTX is NVIDIA's, and is reported with the instruction it begins with."""

from __future__ import annotations

import re

_LITERAL = rb'"[^"\\\n]*(?:\\(?:\r\n|[\s\S])[^"\\\n]*)*"'
_STATEMENT = re.compile(
    rb"(?:\s|\\\r?\n|volatile|__volatile__|goto|inline)*\(((?:\s|\\\r?\n|//[^\n]*|/\*.*?\*/|"
    + _LITERAL
    + rb")*)([A-Za-z_#]?)"
)
_TEXT = re.compile(_LITERAL)
_INSTRUCTION = re.compile(rb"(?:^|[\s;{}])(?:@!?%?\w+\s+)?\.?([a-z][a-z0-9_]*(?:\.[a-z0-9_:]+)+)")
_WORD = re.compile(rb"[a-z][\w.]*")

REASON = "PTX is NVIDIA's assembler; MUSA has no counterpart"


def ptx(text: bytes, end: int) -> str | None:
    """What the statement after the keyword `asm` ending at `end` begins with; None where it is empty or another processor's."""
    found = _STATEMENT.match(text, end)
    if found is None:
        return None
    template = b"".join(each[1:-1] for each in _TEXT.findall(found[1])).replace(rb"\n", b" ").replace(rb"\t", b" ")
    instruction = _INSTRUCTION.search(template)
    if instruction is not None:
        return instruction[1].decode("ascii", "replace")
    if found[2]:  # put together by macros
        return "asm"
    return None
