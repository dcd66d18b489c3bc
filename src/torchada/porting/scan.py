"""The files of a tree, and what there may not be among them."""

from __future__ import annotations

import fnmatch
import os
import posixpath
import stat
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from torchada.porting.findings import PortingError
from torchada.porting.includes import renamed

_SUFFIXES = {
    "CUDA, MUSA": (".cu", ".cuh", ".mu", ".muh"),
    "C, C++": (".c", ".cc", ".cpp", ".cxx", ".c++", ".C", ".cppm", ".ixx"),
    "headers": (".h", ".hh", ".hpp", ".hxx", ".h++", ".H"),
    "included": (".inl", ".inc", ".ipp", ".tpp", ".txx", ".tcc", ".def", ".impl"),
}
SOURCES = frozenset(suffix for group in _SUFFIXES.values() for suffix in group)
SKIPPED = frozenset({".git", ".hg", ".svn", "__pycache__", ".tox", ".mypy_cache", ".pytest_cache", ".ruff_cache"})
MOST_BYTES = 32 * 1024 * 1024
MOST_LINKS = 8  # folders that link to each other make a tree with any number of paths
MANIFEST = ".torchada-port.json"
# Beside an output folder while it is written: the new one, and what keeps others from it. A tree may hold its own output.
TEMPORARY = ".torchada-porting"
LOCK = ".torchada-lock"


class Entry(NamedTuple):
    """A file of a tree: its path relative to the root and what it is called when ported, the file to read, whether it is to be
    ported, and what tells that it is the same as before."""

    path: str
    target: str
    file: str
    is_source: bool
    stamp: tuple[int, int, int]
    mode: int


def entries(
    root: Path,
    exclude: Sequence[str] = (),
    most_bytes: int = MOST_BYTES,
    without: Iterable[Path] = (),
    prefix: str = "",
    only_sources: bool = False,
) -> list[Entry]:
    """The files below `root`, or the one file that it is; their paths begin with `prefix`.

    Links to files within the tree count as files. PortingError for a link that leads out of the tree, to itself or to nothing, for
    a source with more than `most_bytes`, and for what is neither file nor folder. `without` are folders that are no part of it.
    """
    top = os.path.realpath(root)
    if os.path.isfile(top):
        return [_entry(os.path.dirname(top), os.path.basename(top), "", True, most_bytes)]
    if not os.path.isdir(top):
        raise PortingError(f"{root}: no such file or folder")
    hidden = {os.path.realpath(folder) for folder in without}
    files = []
    for path in _walk(top, "", (top,), hidden, 0):
        dot = path.rfind(".")
        is_source = dot >= 0 and path[dot:] in SOURCES and not (exclude and is_excluded(path, exclude))
        if is_source or not only_sources:
            files.append(_entry(top, path, prefix, is_source, most_bytes))
    return files


def single_entries(root: str, files: Iterable[str], exclude: Sequence[str] = ()) -> list[Entry]:
    """`files`, which lie below `root` by their names, whatever links lead to them."""
    paths = [os.path.relpath(file, root).replace(os.sep, "/") for file in files]
    return [_entry(root.rstrip("/"), path, "", not is_excluded(path, exclude), MOST_BYTES) for path in paths]


def _walk(folder: str, prefix: str, above: tuple[str, ...], hidden: set[str], links: int) -> Iterator[str]:
    """Paths below `folder`; `above` are the real paths of the folders it is in, itself included."""
    try:
        children = sorted(os.scandir(folder), key=lambda child: child.name)
    except OSError as error:
        raise PortingError(f"{folder}: {error.strerror}") from error
    for child in children:
        name, is_link = child.name, child.is_symlink()
        real = _checked_link(child.path, above, links) if is_link else f"{above[-1]}/{name}"
        if child.is_dir():
            if name not in SKIPPED and real not in hidden and not name.endswith(TEMPORARY):
                yield from _walk(child.path, f"{prefix}{name}/", (*above, real), hidden, links + is_link)
        elif name != MANIFEST and not name.endswith(LOCK):
            yield prefix + name


def _checked_link(link: str, above: tuple[str, ...], links: int) -> str:
    """Where a link leads."""
    if links >= MOST_LINKS:
        raise PortingError(f"{link}: a path through more than {MOST_LINKS} links")
    try:
        real = os.path.realpath(link, strict=True) if _HAS_STRICT else _strictly(link)
    except OSError as error:
        raise PortingError(f"{link}: this link leads nowhere ({error.strerror})") from error
    if real in above:
        raise PortingError(f"{link}: this link leads back to {real}, a folder that it is in")
    if os.path.commonpath([real, above[0]]) != above[0]:
        raise PortingError(f"{link}: this link leads out of the tree, to {real}")
    return real


_HAS_STRICT = "strict" in (os.path.realpath.__kwdefaults__ or {})


def _strictly(link: str) -> str:
    os.stat(link)
    return os.path.realpath(link)


def _entry(root: str, path: str, prefix: str, is_source: bool, most_bytes: int) -> Entry:
    file = f"{root}/{path}"
    try:
        status = os.stat(file)
    except OSError as error:
        raise PortingError(f"{file}: {error.strerror}") from error
    if not stat.S_ISREG(status.st_mode):
        raise PortingError(f"{file}: neither a file nor a folder")
    if is_source and status.st_size > most_bytes:
        raise PortingError(
            f"{file}: {status.st_size:,} bytes, and a source may have {most_bytes:,}; exclude it or raise the limit"
        )
    whole = prefix + path
    return Entry(
        whole, renamed(whole) if is_source else whole, file, is_source, stamp_of(status), stat.S_IMODE(status.st_mode)
    )


def stamp_of(status: os.stat_result) -> tuple[int, int, int]:
    """What changes when a file does."""
    return status.st_mtime_ns, status.st_ctime_ns, status.st_size


def is_excluded(path: str, patterns: Sequence[str]) -> bool:
    """Whether a pattern names the path or a folder above it."""
    parts = path.split("/")
    heads = ["/".join(parts[: n + 1]) for n in range(len(parts))]
    return any(fnmatch.fnmatchcase(head, pattern.rstrip("/")) for pattern in patterns for head in heads)


def apart(files: Sequence[Entry]) -> list[Entry]:
    """The same with another target for each CUDA source whose own is taken: a.cuh beside a.muh becomes a.cuh.muh.

    PortingError where two files would still be ported to one.
    """
    taken = {entry.path for entry in files if entry.target == entry.path}
    result = [
        entry._replace(target=entry.path + posixpath.splitext(entry.target)[1])
        if entry.target != entry.path and entry.target in taken
        else entry
        for entry in files
    ]
    owners: dict[str, str] = {}
    for entry in result:
        if entry.target in owners:
            raise PortingError(f"{owners[entry.target]} and {entry.path} would both be written to {entry.target}")
        owners[entry.target] = entry.path
    return result
