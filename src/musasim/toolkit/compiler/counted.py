"""MUSASIM_COVERAGE=FOLDER: how often each line of a file of kernels runs, counted by code that GCC adds (`--coverage`).

GCC's notes lie in the folder, beside the counts that a process adds when it ends; `musasim.coverage` reads both. An object file
brings along what counts (libgcov) for itself, so that builds link as before.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
from collections.abc import Sequence
from pathlib import Path

VARIABLE = "MUSASIM_COVERAGE"
OPTION = "--coverage"
# What libgcov shows to others; two object files of a library have it twice.
_SHOWN = ("--wildcard", "--localize-symbol=__gcov_*", "--localize-symbol=mangle_path")


def object_file(source: str, output: str) -> Path | None:
    """The object file to compile in place of `output`, as GCC names notes and counts after it; None where nobody counts."""
    folder = os.environ.get(VARIABLE)
    if not folder:
        return None
    place = Path(folder).resolve()
    place.mkdir(parents=True, exist_ok=True)
    origin = f"{os.path.abspath(source)}\n{Path(output).name}"  # not its folder, which may be a temporary one
    name = hashlib.sha256(origin.encode(errors="surrogateescape")).hexdigest()[:8]
    file = place / f"{Path(output).stem}-{name}.o"
    file.with_suffix(".gcda").unlink(missing_ok=True)  # counts of another state of the source
    return file


def finish(compiler: Sequence[str], file: Path, output: str) -> None:
    """Make `output` of the compiled file and what counts."""
    subprocess.run([*compiler, "-r", "-nostdlib", str(file), "-lgcov", "-o", output], check=True)
    subprocess.run(["objcopy", "--localize-hidden", *_SHOWN, output], check=True)
    file.unlink()
