"""What the simulator's kernels cost: a thread that does nothing, an element of saxpy, a barrier, a shuffle, a ballot.

Two numbers for each: processor time in nanoseconds, the least of the rounds; and instructions, which callgrind counts, and which do
not depend on how busy the machine is. With another toolkit (that `python -m musasim toolkit` of another revision made), both are
measured in turns.

    python benchmarks/kernels.py [--against TOOLKIT] [--rounds N]
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from musasim.toolkit import home

SOURCE = Path(__file__).with_suffix(".mu")
NAMES = ("nothing", "saxpy", "barriers", "shuffles", "ballots")
TIMED, COUNTED = 1 << 20, 1 << 16


def compiled(toolkit: Path, folder: Path) -> list[str]:
    """Compile the kernels with a toolkit, and return the command that runs them by its runtime. Raises CalledProcessError."""
    program = folder / "kernels"
    subprocess.run([str(toolkit / "bin" / "mcc"), "-O2", str(SOURCE), "-o", str(program), "-lmusart"], check=True)
    return [
        "env",
        f"LD_LIBRARY_PATH={toolkit / 'lib'}{os.pathsep}{os.environ.get('LD_LIBRARY_PATH', '')}",
        str(program),
    ]


def nanoseconds(program: list[str], name: str) -> float:
    done = subprocess.run([*program, name, str(TIMED)], check=True, capture_output=True, text=True)
    return float(done.stdout)


def instructions(program: list[str], name: str) -> float:
    """Return those of one more time, by which starting the process counts for nothing."""
    return (_collected(program, name, 2 * COUNTED) - _collected(program, name, COUNTED)) / COUNTED


def _collected(program: list[str], name: str, count: int) -> int:
    valgrind = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null"]
    done = subprocess.run([*program[:2], *valgrind, *program[2:], name, str(count)], capture_output=True, text=True)
    collected = re.search(r"Collected : (\d+)", done.stderr)
    if collected is None:
        raise RuntimeError(f"callgrind counted nothing: {done.stderr[-500:]}")
    return int(collected[1])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--against", type=Path, help="the folder of another toolkit")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    toolkits = {"this": home()} if options.against is None else {"against": options.against, "this": home()}
    if shutil.which("valgrind") is None:
        print("kernels.py: valgrind is needed, and is not on PATH", file=sys.stderr)
        return 1
    with tempfile.TemporaryDirectory() as scratch:
        programs = {}
        for which, toolkit in toolkits.items():
            (Path(scratch) / which).mkdir()
            programs[which] = compiled(toolkit, Path(scratch) / which)
        for name in NAMES:
            times: dict[str, list[float]] = {which: [] for which in programs}
            for _ in range(options.rounds):
                for which, program in programs.items():
                    times[which].append(nanoseconds(program, name))
            for which, program in programs.items():
                print(
                    f"{name:10} {which:8} {min(times[which]):8.2f} ns {instructions(program, name):8.1f} instructions"
                )
    return 0


if __name__ == "__main__":
    sys.exit(main())
