"""Which files of a tree the includes of its sources mean: those keep being found, also where a file gets another suffix."""

from __future__ import annotations

import json
import posixpath
import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from pathlib import Path

from torchada.porting.names import Names
from torchada.porting.rules.build import SUFFIXES

LOST = Path(__file__).with_name("lost_includes.json")
_SUFFIXES = tuple(SUFFIXES)
# From the letter on that both have: most sources have none, which a search for one letter sees in a tenth of the time.
_OF_FLOAT = re.compile(
    rb"L(?:T_(?<=(?<!\w)FLT_)|_(?<=(?<!\w)DBL_))(?:MAX|MIN|EPSILON|TRUE_MIN|DIG|MANT_DIG|MAX_EXP|MIN_EXP)(?!\w)"
)
_FLOAT = re.compile(rb"include[ \t]*<(?:cfloat|float\.h)>|define[ \t]+(?:FLT|DBL)_")


def renamed(path: str) -> str:
    """The path of a ported file: .cu becomes .mu, .cuh .muh."""
    if not path.endswith(_SUFFIXES):
        return path
    stem, suffix = posixpath.splitext(path)
    return stem + SUFFIXES.get(suffix, suffix)


@lru_cache(maxsize=1)
def lost() -> dict[str, list[str]]:
    """What each of PyTorch's CUDA headers includes and its counterpart does not. scripts/lost_includes.py makes the table."""
    table: dict[str, list[str]] = json.loads(LOST.read_text(encoding="utf-8"))
    return table


def lost_by(text: bytes) -> tuple[str, ...]:
    """What a source needs and need not include with CUDA: until 12.5, its headers bring float.h along."""
    return ("float.h",) if _OF_FLOAT.search(text) is not None and _FLOAT.search(text) is None else ()


class Includes:
    """The files of a tree, from their paths relative to its root, with slashes, to what they are called when ported.

    A path in quotes is looked for beside the source first, as compilers do. What an include path of the build would lead to is not
    known here, so a path also means every file that ends in it, unless it is the name of one of CUDA's own headers that stands by
    itself.
    """

    def __init__(self, targets: Mapping[str, str], names: Names) -> None:
        self._targets = targets
        self._names = names
        self._endings: dict[str, str] = {}
        for path, target in targets.items():
            for start in _starts(path):
                ending = path[start:]
                if target != path or ending not in self._endings:
                    self._endings[ending] = posixpath.basename(target)

    def resolve(self, source: str, path: str, is_quoted: bool, root: str | None = None) -> str | None:
        """What to include in `source` instead of `path` where that is a file of the tree; None where it is not.

        `root` is where the tree is, with a slash at its end, for an absolute `path`: what is included then is the ported file.
        """
        if path.startswith("/"):
            return self._absolute(source, path, root) if is_quoted else None
        beside = posixpath.normpath(posixpath.join(posixpath.dirname(source), path))
        if is_quoted and beside in self._targets:
            return _with_name(path, posixpath.basename(self._targets[beside]))
        if "/" not in path and self._names.header(path) is not None:
            return None
        ending = posixpath.normpath(path)
        while ending.startswith("../"):
            ending = ending[3:]
        name = self._endings.get(ending)
        return None if name is None else _with_name(path, name)

    def _absolute(self, source: str, path: str, root: str | None) -> str | None:
        target = self._targets.get(posixpath.normpath(path)[len(root) :]) if root and path.startswith(root) else None
        return None if target is None else posixpath.relpath(target, posixpath.dirname(source) or ".")


def _with_name(path: str, name: str) -> str:
    """`path` with another last part, and everything before it as it was written."""
    return path[: path.rfind("/") + 1] + name


def _starts(path: str) -> Iterable[int]:
    yield 0
    at = path.find("/")
    while at >= 0:
        yield at + 1
        at = path.find("/", at + 1)
