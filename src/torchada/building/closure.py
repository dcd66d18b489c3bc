"""Which files a build compiles: its sources, and what they include, as far as it belongs to the project and not to a library.

Includes are searched as compilers do, beside the file and in the include folders, without regard to conditions: one file too many
does no harm. A string that names a file counts as an include, because a macro may include it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from torchada.building.errors import BuildError
from torchada.building.toolkit import Toolkit
from torchada.porting import Names
from torchada.porting.scan import MOST_BYTES, SOURCES

_DIRECTIVE = rb"(?:#|%:)[ \t]*(?:include|include_next|import)\b[ \t]*(?:/\*.*?\*/[ \t]*)?"
_ANGLED = re.compile(_DIRECTIVE + rb"<([^<>\n]+)>")
_QUOTED = re.compile(_DIRECTIVE + rb'"([^"\n]+)"')
_STRING = re.compile(rb'"([^"\s\\]{1,400}\.\w{1,4})"')


# Headers of torch's for CUDA that include none of CUDA's, so that a build for the host finds all it needs.
_WITHOUT_FOLDER = frozenset({"torch/csrc/cuda/memory_snapshot.h"})


@dataclass
class Closure:
    """`files` by absolute path, in the order in which they were met; `headers` that were not found, as they are included;
    `beside`, folders of files from which headers are included that lie below them and are left out."""

    files: dict[str, None] = field(default_factory=dict)
    headers: set[str] = field(default_factory=set)
    beside: dict[str, None] = field(default_factory=dict)

    def needs_cuda(self, include_dirs: Iterable[str], toolkit: Toolkit) -> bool:
        """Whether a header is CUDA's, or torch's for CUDA, and the build has a folder where such headers are, if they need one.

        Sources for the CPU alone may contain such an include too, for another build of the same project.
        """
        if not self.headers.isdisjoint(_WITHOUT_FOLDER):
            return True
        project = (_slashed(os.getcwd()),)
        outside = [os.path.abspath(each) for each in include_dirs if not is_within(each, project)]
        own = () if toolkit.home is None else (_slashed(toolkit.home),)
        if not any("cuda" in each.lower() or is_within(each, own) for each in outside):
            return False
        return any(_names().header(header) is not None for header in self.headers)


def is_source(path: str) -> bool:
    """Whether `path` names a source that can be ported."""
    return os.path.splitext(path)[1] in SOURCES


def is_cuda_source(path: str) -> bool:
    """Whether `path` names a source that nvcc compiles as CUDA."""
    return os.path.splitext(path)[1] in (".cu", ".cuh")


def closure(sources: Iterable[str], include_dirs: Sequence[str], foreign: Sequence[str]) -> Closure:
    """The `sources` and what they include. Files below `foreign` folders, and those of the system, are left out.

    A word without a slash in `foreign` stands for every folder of that name.
    """
    is_apart = _apart([*foreign, *_SYSTEM])
    folders = [each for each in map(os.path.abspath, include_dirs) if not is_apart(each)]
    found = Closure()
    waiting = [os.path.abspath(each) for each in sources]
    for each in waiting:
        if not os.path.isfile(each):
            raise BuildError(f"{each}: no such source")
    while waiting:
        file = waiting.pop()
        if file in found.files:
            continue
        found.files[file] = None
        for path, is_quoted in _included(file):
            inner = _resolved(path, [os.path.dirname(file), *folders] if is_quoted else folders)
            if inner is None:
                found.headers.add(path)
            elif not is_apart(inner):
                waiting.append(inner)
            elif is_quoted and os.path.isfile(os.path.join(os.path.dirname(file), path)):
                found.beside[os.path.dirname(file)] = None
    return found


def _apart(foreign: Sequence[str]) -> Callable[[str], bool]:
    """Whether a path lies in one of these folders."""
    names = {each for each in foreign if os.sep not in each}
    folders = tuple({_slashed(each) for folder in foreign for each in (folder, os.path.realpath(folder))})
    return lambda path: is_within(path, folders) or not names.isdisjoint(os.path.abspath(path).split(os.sep))


_SYSTEM = ("/usr/include", "/usr/lib", "/usr/local/include")


def of_project(files: Iterable[str], foreign: Iterable[str]) -> list[str]:
    """Those of `files` that lie in none of the `foreign` folders."""
    apart = tuple(map(_slashed, foreign))
    return [each for each in files if not is_within(each, apart)]


def is_within(path: str, folders: tuple[str, ...]) -> bool:
    """Whether `path` is one of `folders`, which end with a slash, or below one."""
    return _slashed(path).startswith(folders)


def _slashed(path: str) -> str:
    return os.path.join(os.path.abspath(path), "")


def _included(file: str) -> Iterator[tuple[str, bool]]:
    try:
        if os.path.getsize(file) > MOST_BYTES:
            raise BuildError(f"{file}: more than {MOST_BYTES:,} bytes, too large for a source")
        with open(file, "rb") as stream:
            text = stream.read()
    except OSError as error:
        raise BuildError(f"{file}: {error.strerror}") from error
    for path in dict.fromkeys(_ANGLED.findall(text)):
        yield os.fsdecode(path).strip(), False
    quoted = dict.fromkeys(_QUOTED.findall(text))
    for path in quoted:
        yield os.fsdecode(path), True
    for path in dict.fromkeys(_STRING.findall(text)):
        if path not in quoted and is_source(os.fsdecode(path)):
            yield os.fsdecode(path), True


def _resolved(path: str, folders: Sequence[str]) -> str | None:
    for folder in folders:
        file = os.path.normpath(os.path.join(folder, path))
        if os.path.isfile(file):
            return file
    return None


@lru_cache(maxsize=1)
def _names() -> Names:
    return Names()
