"""The host's C++ compiler, and how one is run."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass

CXX = ("c++", "g++", "clang++")
# What a compiler says where the machine, and not the source, is at fault. In C's locale, and in lower case.
_OF_THE_MACHINE = (
    "no space left on device",
    "disk quota exceeded",
    "read-only file system",
    "input/output error",
    "file too large",
    "stale file handle",
    "too many open files",
    "resource temporarily unavailable",
    "cannot allocate memory",
    "memory exhausted",
    "out of memory",
    "killed signal",
)


def find_cxx(wanted: str) -> list[str] | None:
    """The compiler's command: `wanted` ($CXX, options allowed), or the first of the usual names that exists; None without one."""
    try:
        command = shlex.split(wanted)
    except ValueError:  # a quote that nothing closes
        return None
    for name in command[:1] or CXX:
        path = shutil.which(name)
        if path is not None:
            return [path, *command[1:]]
    return None


def looked_for(wanted: str) -> str:
    """What `find_cxx` could not find, for a message."""
    return f"CXX={wanted}" if wanted else f"{', '.join(CXX[:-1])} or {CXX[-1]}"


def identity(path: str) -> str:
    """A text that changes when another compiler is installed at the same path, because its output may differ."""
    status = os.stat(os.path.realpath(path))
    return f"{status.st_size} {status.st_mtime_ns}"


@dataclass(frozen=True)
class Ran:
    """The result of a compiler's run."""

    status: int
    output: str

    def first_errors(self, most: int = 3) -> str:
        """The lines that a person looks for; compilers print much more about templates."""
        lines = self.output.splitlines()
        return "\n".join(([line for line in lines if "error" in line.lower()] or lines)[:most])

    def fault_of_the_machine(self) -> str | None:
        """Why it failed, where the same source may compile at another time: a full disk, a quota, no memory, a signal."""
        if self.status < 0:
            return f"the compiler was ended by signal {-self.status}"
        if self.status and not self.output.strip():
            return "the compiler failed without a word"
        lines = self.output.splitlines() if self.status else []
        return next((line.strip() for line in lines if any(part in line.lower() for part in _OF_THE_MACHINE)), None)


def run(command: Sequence[str]) -> Ran:
    """Run a compiler to its end; its messages are English, and stay in the order in which it wrote them."""
    done = subprocess.run(
        command,
        env={**os.environ, "LC_ALL": "C"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    )
    return Ran(done.returncode, done.stdout)
