"""What MUSASIM_MEMCHECK=1 has said of a project's kernels."""

from __future__ import annotations

import re
from pathlib import Path

_FAULT = re.compile(
    r"musasim: memcheck: kernel (\w+), block \(.*?\), thread \(.*?\): ([a-z ]+):.*\n +at (.+)$", re.MULTILINE
)


def read(log: Path, folder: Path) -> tuple[str, ...]:
    """Each fault once, as "kernel: kind at file:line", with the file relative to `folder`, where the project's sources are."""
    text = log.read_text(encoding="utf-8", errors="replace")
    within = f"{folder.resolve()}/"
    return tuple(
        sorted({f"{kernel}: {kind} at {at.removeprefix(within)}" for kernel, kind, at in _FAULT.findall(text)})
    )
