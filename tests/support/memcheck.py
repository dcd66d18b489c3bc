"""Compiles a file of tests/musasim/device for MUSASIM_MEMCHECK=1, runs its kernels, and reads what was found."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from musasim.toolkit import home
from support.interpreter import ROOT

_SOURCES = ROOT / "tests" / "musasim" / "device"

_RUN = """
import ctypes, sys
library = ctypes.CDLL(sys.argv[1])
x = (ctypes.c_float * 64)(*range(1, 65))
y = (ctypes.c_float * 64)(*[-1] * 64)
print(getattr(library, "run_" + sys.argv[2])(x, y, ctypes.c_long(int(sys.argv[3]))), list(y))
"""


def environment(memcheck: str = "1", **more: str) -> dict[str, str]:
    return {**os.environ, "MUSASIM_MEMCHECK": memcheck, **more}


def compiled(name: str, folder: Path, memcheck: str = "1", **more: str) -> Path:
    library = folder / f"{Path(name).stem}.so"
    mcc = [home() / "bin" / "mcc", "-O1", "-shared", "-fPIC", _SOURCES / name, "-o", library, "-lmusart"]
    done = subprocess.run(mcc, capture_output=True, text=True, env=environment(memcheck, **more))
    assert done.returncode == 0, done.stderr
    return library


def run(library: Path, kernel: str, shift: int, memcheck: str = "1", **more: str) -> subprocess.CompletedProcess[str]:
    """Run a kernel in a process of its own, which prints what it answers and the numbers that it leaves."""
    command = [sys.executable, "-c", _RUN, str(library), kernel, str(shift)]
    return subprocess.run(command, capture_output=True, text=True, timeout=300, env=environment(memcheck, **more))


def planted(name: str, kernel: str, fault: str) -> int:
    """Return the line of a kernel that says which fault it has."""
    lines = (_SOURCES / name).read_text(encoding="utf-8").splitlines()
    start = next(i for i, line in enumerate(lines) if re.match(rf"__global__ void {kernel}\(", line))
    return next(i for i in range(start, len(lines)) if lines[i].endswith(f"// {fault}")) + 1


class Finding:
    """What is said of a fault: its kernel and kind, block and thread, and the lines, two of a race."""

    def __init__(self, text: str) -> None:
        place, self.kind, self.what = text.split("\n")[0].split(": ", 2)
        self.kernel = re.split(r"[ ,(]", place)[1]
        self.where = re.findall(r"^    (?:at|and) (.+)$", text, re.MULTILINE)
        position = re.search(r", block \((\d+), 0, 0\), thread \((\d+), 0, 0\)$", place)
        assert position is not None, text
        self.block, self.thread = map(int, position.groups())


def findings(said: str) -> list[Finding]:
    parts = said.split("musasim: memcheck: ")
    assert len(parts) == 1 or re.fullmatch(r"\d+ faults? found\n", parts[-1])
    return [Finding(part) for part in parts[1:-1]]
