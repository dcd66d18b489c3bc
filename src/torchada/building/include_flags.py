"""The flags of a compiler that name folders of headers, or files to include first: -I, -isystem, -iquote, -idirafter, -include."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from torchada.building.ported import Copies

_OF_FOLDERS = ("-I", "-isystem", "-iquote", "-idirafter")
_OF_FILES = "-include"


class IncludeFlag(NamedTuple):
    """One such flag: -I folder, or -Ifolder where it is joined."""

    option: str
    path: str
    is_joined: bool

    def spelled(self, path: str) -> list[str]:
        """The same flag for another path."""
        return [self.option + path] if self.is_joined else [self.option, path]


def _read(flags: Iterable[str]) -> Iterator[IncludeFlag | str]:
    """The flags in their order, those of includes taken apart; one at the end whose path is missing stays as it is."""
    rest = iter(flags)
    for flag in rest:
        option = next((option for option in _OF_FOLDERS if flag.startswith(option)), "")
        if flag and flag in (option, _OF_FILES):
            path = next(rest, None)
            yield flag if path is None else IncludeFlag(flag, path, False)
        else:
            yield IncludeFlag(option, flag[len(option) :], True) if option else flag


def included(flags: Iterable[str]) -> tuple[list[str], list[str]]:
    """The folders that a compiler's `flags` search, and the files that they include."""
    folders: list[str] = []
    files: list[str] = []
    for flag in _read(flags):
        if isinstance(flag, IncludeFlag):
            (files if flag.option == _OF_FILES else folders).append(flag.path)
    return folders, files


def with_copies(flags: Iterable[str], copies: Copies) -> list[str]:
    """A compiler's `flags`, with folders of copies before those of the originals, and files replaced by their copies."""
    out: list[str] = []
    for flag in _read(flags):
        if isinstance(flag, str):
            out.append(flag)
        else:
            paths = [copies.of(flag.path)] if flag.option == _OF_FILES else copies.with_copies([flag.path])
            out += [word for path in paths for word in flag.spelled(path)]
    return out
