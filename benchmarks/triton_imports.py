"""What Triton's area, and the simulator's backend for Triton, add to `import torch` and `import triton`.

Processor time of processes that take seconds differs by more than that when the machine does other work. So the instructions are
counted (valgrind's cachegrind: all of the process, without the kernel's part), which other work does not change: `again` says how
far two counts of one program are apart. The milliseconds are these instructions at the speed of the same program without valgrind,
the fastest of some starts. On a busy machine that is slower than on an idle one, and so the milliseconds are rather too many.

Needs valgrind, and some minutes: under it an import takes about thirty times as long.

    python benchmarks/triton_imports.py [--starts N]
"""

from __future__ import annotations

import argparse
import compileall
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from startup import ENVIRONMENT, Program, start

SIMULATE = {"TORCHADA_SIMULATE": "1", "PYTHONHASHSEED": "0"}
NO_AREA = {**SIMULATE, "TORCHADA_SKIP_AREAS": "libraries.triton"}
NO_TORCHADA = {"TORCHADA_DISABLE": "1", "PYTHONHASHSEED": "0"}
NO_BACKEND = "import musasim.triton; musasim.triton.register = lambda backends: None; "
COUNT = ("valgrind", "--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null")


@dataclass(frozen=True)
class Comparison:
    """A program, and the same one without a part whose cost is the question."""

    title: str
    ours: Program
    without: Program


def python(code: str, variables: Mapping[str, str]) -> Program:
    """`code` in this interpreter's environment."""
    return Program(Path(sys.executable), code, variables)


BOTH = python("import torch, triton", SIMULATE)
COMPARISONS = (
    Comparison("import torch, triton: again", BOTH, BOTH),
    Comparison("import torch, triton: the area", BOTH, python("import torch, triton", NO_AREA)),
    Comparison("import torch, triton: area and backend", BOTH, python(f"{NO_BACKEND}import torch, triton", NO_AREA)),
    Comparison("import torch: the area", python("import torch", SIMULATE), python("import torch", NO_AREA)),
    Comparison("import triton: torchada", python("import triton", SIMULATE), python("import triton", NO_TORCHADA)),
)


def instructions(program: Program) -> int:
    """The number of instructions that a process of `program` executes. Raises RuntimeError with its last output."""
    command = [*COUNT, str(program.python), "-c", program.code]
    done = subprocess.run(command, env={**ENVIRONMENT, **program.variables}, capture_output=True, text=True)
    counted = re.search(r"I\s+refs:\s+([\d,]+)", done.stderr)
    if done.returncode != 0 or counted is None:
        raise RuntimeError(f"{program.code!r} under valgrind: {done.stderr[-2000:]}")
    return int(counted[1].replace(",", ""))


def compile_sources() -> None:
    """Write the .pyc files of torchada and the simulator, as pip does; the counted processes would compile what has none."""
    for package in ("torchada", "musasim"):
        spec = find_spec(package)
        for folder in (spec and spec.submodule_search_locations) or ():
            compileall.compile_dir(folder, quiet=2)


def compare(comparison: Comparison, ours: int, starts: int) -> str:
    """One line of the answer; `ours` is the count of the comparison's first program."""
    more = ours - instructions(comparison.without)
    milliseconds = min(start(comparison.ours).cpu for _ in range(starts))
    return f"{more:+13,} of {ours:,} instructions, {more * milliseconds / ours:+.2f} of {milliseconds:.0f} ms"


def main() -> int:
    """Count and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--starts", type=int, default=5, help="starts without valgrind, of which the fastest counts (default 5)"
    )
    options = parser.parse_args()
    if shutil.which("valgrind") is None:
        print("triton_imports.py: valgrind is needed, and is not on PATH", file=sys.stderr)
        return 1
    compile_sources()
    counts: dict[str, int] = {}
    for comparison in COMPARISONS:
        code = comparison.ours.code
        counts[code] = counts.get(code) or instructions(comparison.ours)
        print(f"{comparison.title:40}{compare(comparison, counts[code], options.starts)}", flush=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
