"""What MUSASIM_MEMCHECK=1 has said of a project's kernels."""

from __future__ import annotations

import re
from pathlib import Path

_FAULT = re.compile(
    r"^musasim: memcheck: kernel (.+?), block \(.*?\), thread \(.*?\): ([a-z ]+):.*\n +at (.+)$", re.MULTILINE
)
_NAME = re.compile(r"([A-Za-z_]\w*)(?:<|\(|$)")


def read(log: Path, folder: Path) -> tuple[str, ...]:
    """Each fault once, as "kernel: kind at file:line", with the file relative to `folder`, where the project's sources are."""
    text = log.read_text(encoding="utf-8", errors="replace")
    found = {f"{_short(kernel)}: {kind} at {_within(place, folder)}" for kernel, kind, place in _FAULT.findall(text)}
    return tuple(sorted(found))


def _short(kernel: str) -> str:
    """The name of a kernel without the types of a template, its arguments and its namespaces."""
    name = _NAME.search(kernel)
    return kernel if name is None else name[1]


def _within(place: str, folder: Path) -> str:
    return place.removeprefix(f"{folder.resolve()}/")
