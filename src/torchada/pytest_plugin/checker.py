"""The findings of the checkers of memory and of streams, which the simulator writes to stderr."""

from __future__ import annotations

import os
import re
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

# The fault, and the lines that say where.
_FINDING = re.compile(r"^musasim: (?:memcheck|streamcheck): (.+\n    at .*(?:\n    and .*)?)", re.MULTILINE)
_STDERR = 2


def findings(text: str) -> list[str]:
    """The findings in what was written to stderr."""
    return _FINDING.findall(text)


@contextmanager
def heard() -> Iterator[list[str]]:
    """The findings of a block, filled in at its end. What was written to stderr gets there then, whoever captures it."""
    said: list[str] = []
    _flush()
    with tempfile.TemporaryFile() as file:
        before = os.dup(_STDERR)
        os.dup2(file.fileno(), _STDERR)
        try:
            yield said
        finally:
            _flush()
            os.dup2(before, _STDERR)
            os.close(before)
            file.seek(0)
            text = file.read()
            _write(text)
            said += findings(text.decode(errors="replace"))


def _flush() -> None:
    """A test may have put anything in the place of sys.stderr, None and a closed file included."""
    with suppress(Exception):
        sys.stderr.flush()


def _write(text: bytes) -> None:
    while text:
        text = text[os.write(_STDERR, text) :]


def unchecked() -> list[str]:
    """The libraries of this process with kernels that were compiled without the checker, which sees nothing of those."""
    return sorted(path.name for path in _libraries() if _is_unchecked(path))


def _libraries() -> set[Path]:
    maps = Path("/proc/self/maps").read_text(errors="surrogateescape")
    return {Path(line.split(maxsplit=5)[-1]) for line in maps.splitlines() if ".so" in line and "/" in line}


def _is_unchecked(path: Path) -> bool:
    """A library calls musasim_launch for its kernels, and from these a function for each access that is to be checked."""
    try:
        contents = path.read_bytes() if not path.name.startswith(("libtorch", "libmusa")) else b""
    except OSError:  # it has been removed since
        return False
    return b"musasim_launch" in contents and b"_noabort" not in contents
