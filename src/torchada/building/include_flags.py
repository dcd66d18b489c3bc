"""What tells a compiler of folders of headers, and of files to include first: its flags, and the variables that it reads itself."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from torchada.building.environment import variable
from torchada.building.ported import Copies

_OF_FOLDERS = ("-I", "-isystem", "-iquote", "-idirafter")
_OF_FILES = ("-include", "-imacros")
# GCC and clang search such folders behind those of the flags of the same kind.
_OF_ENVIRONMENT = {"CPATH": "-I", "CPLUS_INCLUDE_PATH": "-isystem"}
# A folder with this header is a toolkit of CUDA's. Its headers are no project's, whichever machine the variable was set for.
_OF_CUDA = "cuda_runtime_api.h"


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
        if flag and flag in (option, *_OF_FILES):
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
            (files if flag.option in _OF_FILES else folders).append(flag.path)
    return folders, files


def of_environment() -> list[str]:
    """The flags that stand for the compiler's own variables; an empty word in one of these is the working directory."""
    flags: list[str] = []
    for name, option in _OF_ENVIRONMENT.items():
        value = variable(name)
        for path in value.split(os.pathsep) if value else ():
            if not os.path.isfile(os.path.join(path, _OF_CUDA)):
                flags += [option, path or os.curdir]
    return flags


def with_copies(flags: Iterable[str], copies: Copies) -> list[str]:
    """A compiler's `flags`, with folders of copies before those of the originals, and files replaced by their copies.

    Copies of what the compiler's variables name stand last: it searches these folders behind those of its flags.
    """
    out: list[str] = []
    for flag in _read(flags):
        if isinstance(flag, str):
            out.append(flag)
        else:
            paths = [copies.of(flag.path)] if flag.option in _OF_FILES else copies.with_copies([flag.path])
            out += [word for path in paths for word in flag.spelled(path)]
    return [*out, *_copies_of_environment(copies)]


def _copies_of_environment(copies: Copies) -> Iterator[str]:
    for flag in _read(of_environment()):
        copy = copies.folder_of(flag.path) if isinstance(flag, IncludeFlag) else None
        if isinstance(flag, IncludeFlag) and copy is not None:
            yield from flag.spelled(copy)
