"""The counterpart of one identifier or one include path on MUSA, or the reason why it has none."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Generic, NamedTuple, TypeVar

from torchada.porting.rules import LIBRARIES
from torchada.porting.rules.library import Library
from torchada.porting.symbols import known

# Of the driver: cuX and PFN_cuX, CU_X and CUx. Inside longer names the letters mean something else.
_LONGEST = 256  # CUDA's names and the paths of its headers are less than half as long
_MOST_KEPT = 1 << 16  # answers that are remembered
_UNKNOWN = "no table of MUSA's names has it"
_DRIVER = r"(?<![A-Za-z0-9])(?:cu(?=[A-Z0-9])|CU(?=[a-z_]))"


class Answer(NamedTuple):
    """`name` is the counterpart; `reason` says why there is none, or what to look at; `library` is where it belongs."""

    name: str | None
    reason: str = ""
    library: str = ""


class _Reason(NamedTuple):
    library: Library
    reason: str


Row = TypeVar("Row")


class _First(Generic[Row]):
    """Rows by regular expressions without groups, joined into one pattern: the first that matches a whole name gives the row."""

    def __init__(self, rows: Iterable[tuple[str, Row]]) -> None:
        patterns = list(rows)
        self._rows = [row for _, row in patterns]
        self._pattern = re.compile("|".join(f"({pattern})" for pattern, _ in patterns) or "(?!)")
        if self._pattern.groups != len(patterns):
            raise ValueError(f"a table of names has a group in one of {[pattern for pattern, _ in patterns]}")

    def of(self, name: str) -> Row | None:
        match = self._pattern.fullmatch(name)
        return None if match is None or match.lastindex is None else self._rows[match.lastindex - 1]


class Names:
    """The tables of `libraries`, and a project's own `words`, `prefixes`, `headers` and names to `keep`, which come first."""

    def __init__(
        self,
        libraries: Iterable[Library] = LIBRARIES,
        words: Mapping[str, str] | None = None,
        prefixes: Mapping[str, str] | None = None,
        headers: Mapping[str, str] | None = None,
        keep: Iterable[str] = (),
    ) -> None:
        self.libraries = tuple(libraries)
        self.own_words = dict(words or {})
        self.own_prefixes = dict(prefixes or {})
        self.own_headers = dict(headers or {})
        self.keep = frozenset(keep)
        spellings = {old: new for library in self.libraries for old, new in library.spellings.items()}
        longest_first = sorted(spellings, key=lambda old: (-len(old), old))
        self._spellings = {**spellings, "cu": "mu", "CU": "MU"}
        self._parts = re.compile("|".join([*longest_first, _DRIVER]))
        self._words = {old: (new, library) for library in self.libraries for old, new in library.words.items()}
        self._absent = _First(_reasons((library, library.absent) for library in self.libraries))
        self._unlike = _First(_reasons((library, library.unlike) for library in self.libraries))
        self._names = _First((name, library) for library in self.libraries for name in library.names)
        self._headers = {old: (new, library) for library in self.libraries for old, new in library.headers.items()}
        self._header_names = _First((name, library) for library in self.libraries for name in library.header_names)
        self._absent_headers = _First(_reasons((library, library.absent_headers) for library in self.libraries))
        self.identifier = lru_cache(_MOST_KEPT)(self._identifier)
        self.header = lru_cache(_MOST_KEPT)(self._header)

    def _identifier(self, name: str) -> Answer | None:
        """The answer for a whole identifier; None for one that is not CUDA's."""
        if name in self.keep:
            return None
        if name in self.own_words:
            return Answer(self.own_words[name], library="this project's rules")
        for old, new in self.own_prefixes.items():
            if name.startswith(old):
                return Answer(new + name[len(old) :], library="this project's rules")
        if len(name) > _LONGEST:
            return None
        absent = self._absent.of(name)
        if absent is not None:
            return Answer(None, absent.reason, absent.library.title)
        if name in self._words:
            new, library = self._words[name]
            return Answer(new, library=library.title)
        owner = self._names.of(name)
        if owner is None:
            return None
        is_own = owner.is_closed and name not in known().translated
        return _unknown(name, owner) if is_own else self._respelled(name, owner)

    def _respelled(self, name: str, library: Library) -> Answer | None:
        new = self.spelled(name)
        if new == name:
            return None
        unlike = self._unlike.of(name)
        return Answer(new, unlike.reason if unlike else "", library.title)

    def spelled(self, name: str) -> str:
        """`name` with every part that has a counterpart replaced."""
        return self._parts.sub(lambda part: self._spellings[part[0]], name)

    def _header(self, path: str) -> Answer | None:
        """The answer for a path as #include names it; None for one that is not CUDA's."""
        if path in self.own_headers:
            return Answer(self.own_headers[path], library="this project's rules")
        if len(path) > _LONGEST:
            return None
        if path in self._headers:
            new, library = self._headers[path]
            return Answer(new, library=library.title)
        absent = self._absent_headers.of(path)
        if absent is not None:
            return Answer(None, absent.reason, absent.library.title)
        owner = self._header_names.of(path)
        return None if owner is None else Answer(self._spelled_path(path), library=owner.title)

    def _spelled_path(self, path: str) -> str:
        new = self.spelled(path)
        new = re.sub(r"(?<![A-Za-z0-9])cute/", "mute/", new)
        return re.sub(r"\.cu(?=h?$)", ".mu", new) if path.startswith(("ATen/", "c10/", "torch/")) else new


def _unknown(name: str, library: Library) -> Answer | None:
    """A name like CUDA's that has no counterpart, or that is a project's own."""
    return Answer(None, _UNKNOWN, library.title) if name in known().lacking else None


def _reasons(tables: Iterable[tuple[Library, Mapping[str, str]]]) -> Iterator[tuple[str, _Reason]]:
    return ((pattern, _Reason(library, reason)) for library, table in tables for pattern, reason in table.items())
