"""Which names of CUDA's libraries a table of the vendor's knows, and which of CUDA's own none does.

Every other name is a project's own, even one that begins as CUDA's do. known_names.txt is made by scripts/known_names.py. It has
two sections, sorted: each name is a letter for the length of what it begins with in common with the one before, and the rest.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

FILE = Path(__file__).with_name("known_names.txt")
_LETTERS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_VALUES = {letter: value for value, letter in enumerate(_LETTERS)}
_WIDTH = 120


class Known(NamedTuple):
    """`translated` have a counterpart, `lacking` are CUDA's and have none that is known."""

    translated: frozenset[str]
    lacking: frozenset[str]


@lru_cache(maxsize=1)
def known() -> Known:
    """The names in known_names.txt."""
    translated, lacking = FILE.read_text(encoding="utf-8").split("\n\n")
    return Known(frozenset(_unfolded(translated)), frozenset(_unfolded(lacking)))


def folded(names: Iterable[str]) -> str:
    """Sorted names as lines of text."""
    lines, before = [""], ""
    for name in names:
        same = 0
        while same < min(len(before), len(name), len(_LETTERS) - 1) and before[same] == name[same]:
            same += 1
        word = _LETTERS[same] + name[same:]
        if lines[-1] and len(lines[-1]) + len(word) >= _WIDTH:
            lines.append("")
        lines[-1] = f"{lines[-1]} {word}" if lines[-1] else word
        before = name
    return "\n".join(lines)


def _unfolded(text: str) -> Iterator[str]:
    name = ""
    for word in text.split():
        name = name[: _VALUES[word[0]]] + word[1:]
        yield name
