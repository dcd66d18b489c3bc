"""The files that override operators, one operator a file, named after it: `mm.cpp` has the overloads of aten::mm."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

OWN = Path(__file__).parent / "csrc"
_HEADERS = (".h", ".hpp", ".cuh", ".muh")


def find(folders: Iterable[str], suffixes: Iterable[str], disabled: Iterable[str]) -> list[Path]:
    """The sources of torchada and of `folders`, without the operators that are `disabled`, whatever their case.

    Of two sources for one operator, the one in the later folder is used. Raises NotADirectoryError for what is not a folder.
    """
    sources: dict[str, Path] = {}
    left_out = {name.lower() for name in disabled}
    for folder in (OWN, *map(Path, folders)):
        if not folder.is_dir():
            raise NotADirectoryError(f"{folder}, named in TORCHADA_CPP_OPS_PATH, is not a folder")
        for path in sorted(folder.iterdir()):
            if path.suffix in suffixes and path.stem.lower() not in left_out:
                sources[path.stem] = path
    return [sources[name] for name in sorted(sources)]


def headers(source: Path) -> list[Path]:
    """The headers beside a source, and torchada's, that it may include: a change to one of them is a change to the source."""
    folders = dict.fromkeys((source.parent, OWN))
    return [path for folder in folders for path in sorted(folder.iterdir()) if path.suffix in _HEADERS]
