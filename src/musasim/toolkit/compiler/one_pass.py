"""Tells where code of the host depends on __MUSA_ARCH__.

A compiler for MUSA compiles a file once for the host, without this macro, and once for each architecture. Here both are one pass,
in which the macro is defined everywhere, so the host gets the code that was meant for the device.
"""

from __future__ import annotations

import bisect
import re
from collections.abc import Callable, Iterator
from pathlib import Path

from musasim.toolkit.compiler.host_calls import Body
from musasim.toolkit.compiler.lexer import Source

MACRO = "__MUSA_ARCH__"
_INSTALLED = {"site-packages", "dist-packages", "torch_musa"}  # the last one has headers in the cache as well
_NOTE = (
    f"note: code of the host depends on {MACRO} here. The simulated mcc compiles host and device in one pass, so the host gets the "
    "device's; mcc compiles the host without it"
)

# A name that __COUNTER__ made, which counts otherwise where there is less code before.
_COUNTED = re.compile(r"_\d+\b")

Place = tuple[str, int]


def asks(text: str) -> bool:
    """Whether a file of the user's asks for the macro, as far as preprocessed text tells: by the file's own."""
    return any(_names_macro(file) for file in {file for file, _, _ in _parts(Source(text))})


def notes(text: str, without: str, bodies: Callable[[str], list[Body]]) -> list[str]:
    """A line for each file with code of the host that differs in `without`, which was preprocessed without the macro.

    `bodies` finds the bodies of functions that are the device's alone.
    """
    ours, hosts = (_of_host(each, bodies(each)) for each in (text, without))
    differ = sorted(place for place in ours.keys() | hosts.keys() if ours.get(place) != hosts.get(place))
    lines: dict[str, list[int]] = {}
    for file, line in differ:
        lines.setdefault(file, []).append(line)
    return [f"{file}:{first}: {_NOTE}{_more(rest)}" for file, (first, *rest) in lines.items()]


def _more(lines: list[int]) -> str:
    return f" (and in {len(lines)} more line{'s' * (len(lines) > 1)}, up to line {lines[-1]})" if lines else ""


def _parts(source: Source) -> Iterator[tuple[str, int, int]]:
    return (
        part for part in source.parts() if not part[0].startswith("<") and not _INSTALLED & set(Path(part[0]).parts)
    )


def _names_macro(file: str) -> bool:
    """Under another vendor's name, where the line markers tell what the file was ported from."""
    try:
        return b"_ARCH__" in Path(file).read_bytes()
    except OSError:
        return False


def _of_host(text: str, bodies: list[Body]) -> dict[Place, str]:
    """The user's code outside of the device's functions, by its places."""
    source = Source(text)
    spans = _joined(bodies)
    begins = [begin for begin, _ in spans]
    code: dict[Place, str] = {}
    for file, begin, end in _parts(source):
        position, line = begin, source.place(begin)[1]
        for row in text[begin:end].split("\n"):
            within = bisect.bisect_right(begins, position + len(row)) - 1
            if row.strip() and row[:1] != "#" and not (within >= 0 and position < spans[within][1]):
                code[file, line] = code.get((file, line), "") + _COUNTED.sub("_", " ".join(row.split()))
            position, line = position + len(row) + 1, line + 1
    return code


def _joined(bodies: list[Body]) -> list[tuple[int, int]]:
    """Where the bodies are, in ascending order; what lies within another is a part of it."""
    spans: list[tuple[int, int]] = []
    for body in sorted(bodies, key=lambda body: body.begin):
        if not spans or body.begin >= spans[-1][1]:
            spans.append((body.begin, body.end))
    return spans
