"""A Python source without what is written for people: comments, and texts that stand alone as docstrings do.

A lexer of one expression, for sources of any version of Python and with any faults: it finds where texts end, and nothing else.
"""

from __future__ import annotations

import re

_TEXT = rb"""
    (?P<alone> ^[ \t]* [rRuU]? )? [a-zA-Z]{0,2} (?: \"\"\"(?:[^\\]|\\.)*?\"\"\" | '''(?:[^\\]|\\.)*?''' )
    | \"(?:[^\"\\\n]|\\.)*\"
    | '(?:[^'\\\n]|\\.)*'
    | \#[^\n]*
"""
_LEXER = re.compile(_TEXT, re.VERBOSE | re.MULTILINE | re.DOTALL)


def without_prose(source: bytes) -> bytes:
    """`source` with its lines, so that places in it stay what they are."""
    return _LEXER.sub(_kept, source)


def _kept(match: re.Match[bytes]) -> bytes:
    is_prose = match["alone"] is not None or match[0].startswith(b"#")
    return b"\n" * match[0].count(b"\n") if is_prose else match[0]
