"""What hurts readers of JSON, whatever they expect in it: depth, length, escapes, numbers, keys, blanks, bytes that are no text."""

from __future__ import annotations

import json
import random

from support.growth import Input, numbered, repeated


def anything(size: int) -> bytes:
    return random.Random(0).randbytes(size)


ANYTHING: dict[str, Input] = {
    "brackets": repeated(b"["),
    "braces": repeated(b'{"a":'),
    "brackets that are closed": lambda size: b"[" * (size // 2) + b"]" * (size // 2),
    "quotes": repeated(b'"'),
    "escaped quotes": repeated(b'\\"', b'"', b'"'),
    "escaped letters": repeated(b"\\u0061", b'"', b'"'),
    "halves of letters": repeated(b"\\ud800", b'"', b'"'),
    "a long string": repeated(b"a", b'"', b'"'),
    "a string that is not ASCII": repeated("é".encode(), b'"', b'"'),
    "digits": repeated(b"1"),
    "digits of a fraction": repeated(b"1", b"0."),
    "numbers": repeated(b"1,", b"[", b"1]"),
    "exponents": repeated(b"1e999,", b"[", b"1]"),
    "keys": numbered(b'"%06x":1,', b"{", b'"a":1}'),
    "a key again and again": repeated(b'"a":1,', b"{", b'"a":1}'),
    "blanks": repeated(b" ", b"[", b"]"),
    "empty lines": repeated(b"\r\n", b"[", b"]"),
    "what is no text": repeated(b"\xff", b'"', b'"'),
    "zeros": repeated(b"\0"),
    "anything": anything,
}


def in_files(beginning: bytes, record: object) -> dict[str, Input]:
    """Manifests of many files, whose records are as expected, or are what hurts readers of JSON."""
    entry = json.dumps(record).encode()
    start, end = beginning + b'"files":{', b"}}"
    hostile = {f"a file's record of {name}": _wrapped(start + b'"a":', text, end) for name, text in ANYTHING.items()}
    return {
        "files": numbered(b'"%06x":' + entry.replace(b"%", b"%%") + b",", start, b'"a":' + entry + end),
        "a file again and again": repeated(b'"a":' + entry + b",", start, b'"a":' + entry + end),
        "long names": repeated(b"a/", start + b'"', b'":' + entry + end),
        **ANYTHING,
        **hostile,
    }


def _wrapped(before: bytes, text: Input, after: bytes) -> Input:
    return lambda size: before + text(size) + after
