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
from torchada.building.include_flags import included, of_environment
from torchada.building.toolkit import Toolkit
from torchada.porting import Names
from torchada.porting.scan import MOST_BYTES, SOURCES

_DIRECTIVE = rb"(?:#|%:)[ \t]*(?:include|include_next|import)\b[ \t]*(?:/\*.*?\*/[ \t]*)?"
_ANGLED = re.compile(_DIRECTIVE + rb"<([^<>\n]+)>")
_QUOTED = re.compile(_DIRECTIVE + rb'"([^"\n]+)"')
_STRING = re.compile(rb'"([^"\s\\]{1,400}\.\w{1,4})"')

# Sources and headers written for the accelerator.
OWN_SUFFIXES = (".mu", ".muh")
# Headers of torch's for CUDA that include none of CUDA's, so that a build for the host finds all it needs.
_WITHOUT_FOLDER = frozenset({"torch/csrc/cuda/memory_snapshot.h"})


@dataclass
class Closure:
    """`files` by absolute path, in the order in which they were met, found with `include_dirs`; `headers` that were not found, as
    they are included; `beside`, folders of files from which headers are included that lie below them and are left out; `searched`,
    folders in which files were found."""

    include_dirs: Sequence[str]
    files: dict[str, None] = field(default_factory=dict)
    headers: set[str] = field(default_factory=set)
    beside: dict[str, None] = field(default_factory=dict)
    searched: dict[str, None] = field(default_factory=dict)

    def needs_cuda(self, toolkit: Toolkit) -> bool:
        """Whether a header is CUDA's, or torch's for CUDA, and the build has a folder where such headers are, if they need one.

        Sources for the CPU alone may contain such an include too, for another build of the same project.
        """
        if not self.headers.isdisjoint(_WITHOUT_FOLDER):
            return True
        project = (slashed(os.getcwd()),)
        outside = [os.path.abspath(folder) for folder in self.include_dirs if not is_within(folder, project)]
        own = () if toolkit.home is None else (slashed(toolkit.home),)
        if not any("cuda" in folder.lower() or is_within(folder, own) for folder in outside):
            return False
        return any(_names().header(header) is not None for header in self.headers)


def is_source(path: str) -> bool:
    """Whether `path` names a source that can be ported."""
    return os.path.splitext(path)[1] in SOURCES


def is_cuda_source(path: str) -> bool:
    """Whether `path` names a source that nvcc compiles as CUDA."""
    return os.path.splitext(path)[1] in (".cu", ".cuh")


def is_own_source(path: str) -> bool:
    """Whether `path` names a source for the accelerator: in its own language, or ported CUDA."""
    return path.endswith(OWN_SUFFIXES)


def of_build(
    sources: Iterable[str], include_dirs: Iterable[str], flags: Iterable[str], foreign: Sequence[str]
) -> Closure:
    """The closure of `sources` and of the project's files that a compiler's `flags` include, also with the folders of these.

    The folders of the compiler's own variables are searched last.
    """
    folders, files = included([*flags, *of_environment()])
    searched = [*include_dirs, *folders]
    named = [found for file in files if (found := _resolved(file, [os.curdir, *searched])[1]) is not None]
    return closure([*sources, *_of_project(named, foreign)], searched, foreign)


def closure(sources: Iterable[str], include_dirs: Sequence[str], foreign: Sequence[str]) -> Closure:
    """The `sources` and what they include. Files below `foreign` folders, and those of the system, are left out.

    A word without a slash in `foreign` stands for every folder of that name.
    """
    is_apart = _apart([*foreign, *_SYSTEM])
    folders = [folder for folder in map(os.path.abspath, include_dirs) if not is_apart(folder)]
    met = Closure(include_dirs)
    waiting = [os.path.abspath(source) for source in sources]
    for source in waiting:
        if not os.path.isfile(source):
            raise BuildError(f"{source}: no such source")
    while waiting:
        file = waiting.pop()
        if file in met.files:
            continue
        met.files[file] = None
        for path, is_quoted in _included(file):
            folder, inner = _resolved(path, [os.path.dirname(file), *folders] if is_quoted else folders)
            if inner is None:
                met.headers.add(path)
            elif not is_apart(inner):
                waiting.append(inner)
                met.searched[folder] = None
            elif is_quoted and os.path.isfile(os.path.join(os.path.dirname(file), path)):
                met.beside[os.path.dirname(file)] = None
    return met


def _apart(foreign: Sequence[str]) -> Callable[[str], bool]:
    """Whether a path lies in one of these folders."""
    names = {word for word in foreign if os.sep not in word}
    folders = tuple({slashed(path) for folder in foreign for path in (folder, os.path.realpath(folder))})
    return lambda path: is_within(path, folders) or not names.isdisjoint(os.path.abspath(path).split(os.sep))


_SYSTEM = ("/usr/include", "/usr/lib", "/usr/local/include")


def _of_project(files: Iterable[str], foreign: Iterable[str]) -> list[str]:
    """Those of `files` that lie in none of the `foreign` folders, nor in the system's."""
    apart = tuple(map(slashed, [*foreign, *_SYSTEM]))
    return [file for file in files if not is_within(file, apart)]


def is_within(path: str, folders: tuple[str, ...]) -> bool:
    """Whether `path` is one of `folders`, which end with a slash, or below one."""
    return slashed(path).startswith(folders)


def slashed(path: str) -> str:
    """`path`, absolute and with a slash at its end, as `is_within` compares folders."""
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


def _resolved(path: str, folders: Sequence[str]) -> tuple[str, str | None]:
    """The first of `folders` that has the file, and the file."""
    for folder in folders:
        file = os.path.normpath(os.path.join(folder, path))
        if os.path.isfile(file):
            return folder, file
    return "", None


@lru_cache(maxsize=1)
def _names() -> Names:
    return Names()
