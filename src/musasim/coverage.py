"""Which lines of kernels' sources have run: GCC's counts (`toolkit/compiler/counted.py`) as a tracefile of lcov."""

from __future__ import annotations

import json
import os
import subprocess
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from musasim.base.toolchain import find_compiler
from musasim.errors import MusasimBuildError

Lines = Mapping[int, int]


def counts(folder: Path, root: Path) -> dict[str, Lines]:
    """By file below `root`, how often each line that has code was run. `folder` is what MUSASIM_COVERAGE named at the build."""
    notes = sorted(folder.glob("*.gcno"))
    if not notes:
        raise MusasimBuildError(f"{folder} has no notes of GCC: build the kernels with MUSASIM_COVERAGE={folder}")
    files: dict[str, dict[int, int]] = defaultdict(dict)
    for path, line, count in _counted(notes, root):
        files[path][line] = max(count, files[path].get(line, 0))
    return {path: dict(sorted(files[path].items())) for path in sorted(files)}


def _counted(notes: list[Path], root: Path) -> Iterator[tuple[str, int, int]]:
    """Path below `root`, line and count. A line of a template is there once for each instance."""
    for note in notes:
        document = _read(note)
        for file in document["files"]:
            path = os.path.relpath(os.path.join(document["current_working_directory"], file["file"]), root)
            if not path.startswith(os.pardir):
                yield from ((path, line["line_number"], line["count"]) for line in file["lines"])


def _read(note: Path) -> dict[str, Any]:
    command = [_gcov(), "--json-format", "--stdout", note.name]
    done = subprocess.run(command, cwd=note.parent, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise MusasimBuildError(f"{command[0]} cannot read {note}: {done.stderr.strip()}")
    document: dict[str, Any] = json.loads(done.stdout)
    return document


def _gcov() -> str:
    """The program of that name beside g++, with its version."""
    compiler = Path(find_compiler()[0])
    return str(compiler.with_name(compiler.name.replace("g++", "gcov") if "g++" in compiler.name else "gcov"))


def tracefile(files: Mapping[str, Lines], root: Path) -> str:
    """The text of an .info file, which lcov, genhtml and services for coverage read."""
    text = []
    for path, lines in files.items():
        hit = sum(count > 0 for count in lines.values())
        entries = [f"DA:{line},{count}" for line, count in lines.items()]
        text += ["TN:", f"SF:{root / path}", *entries, f"LF:{len(lines)}", f"LH:{hit}", "end_of_record"]
    return "\n".join([*text, ""])


def table(files: Mapping[str, Lines]) -> Iterator[str]:
    """A line for each file: how many of its lines have run, and which have not."""
    for path, lines in files.items():
        missing = [line for line, count in lines.items() if count == 0]
        share = f"{100 * (len(lines) - len(missing)) // len(lines)} %"
        yield f"{path}: {len(lines) - len(missing)} of {len(lines)} lines, {share}" + _list(missing)


def _list(missing: list[int]) -> str:
    return f"; not run: {', '.join(map(str, missing))}" if missing else ""
