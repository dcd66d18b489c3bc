"""The program that CMake starts before the host's compiler in a project with find_package(Torch): it ports what that is to compile.

PyTorch's C++ has other names on the accelerator, and no header gives them CUDA's. Sources that name nothing of CUDA's are compiled
as they are.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence

from torchada.building.closure import is_source
from torchada.building.cuda_home import toolkit_of
from torchada.building.errors import BuildError, say
from torchada.building.flags import macros
from torchada.building.include_flags import with_copies
from torchada.building.nvcc import Line, ported, run
from torchada.building.ported import Copies


def main(record: str) -> int:
    """Run the compiler that this process's arguments name; returns the exit status. `record` describes the toolkit."""
    compiler, flags = _split(sys.argv[1:])
    try:
        return _compile(compiler, Line.of(flags), record)
    except BuildError as error:
        print(f"c++ (torchada): {error}", file=sys.stderr)
        return 1


def _split(arguments: Sequence[str]) -> tuple[list[str], list[str]]:
    """The compiler, with what else is started before it, and its flags."""
    first = next((at for at, word in enumerate(arguments) if word.startswith(("-", "@")) or is_source(word)), None)
    return list(arguments[:first]), [] if first is None else list(arguments[first:])


def _compile(compiler: list[str], line: Line, record: str) -> int:
    if line.is_linking or not line.inputs:
        return subprocess.run([*compiler, *line.flags], check=False).returncode
    with tempfile.TemporaryDirectory(prefix="torchada-") as for_nothing_else:
        copies = ported(line, os.path.dirname(record), toolkit_of(record), line.folder() or for_nothing_else)
        if copies is None or not _differ(copies):
            return subprocess.run([*compiler, *line.flags], check=False).returncode
        say(copies.notices)
        inputs = {line.flags[at] for at in line.inputs}
        flags = [copies.of(flag) if flag in inputs else flag for flag in macros(with_copies(line.flags, copies))]
        return run([*compiler, *flags], copies, flags)


def _differ(copies: Copies) -> bool:
    """Whether the porter has changed any of the files."""
    return any(_bytes(copy) != _bytes(original) for copy, original in copies.origins().items())


def _bytes(path: str) -> bytes:
    with open(path, "rb") as stream:
        return stream.read()
