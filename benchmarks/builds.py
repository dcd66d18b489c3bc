"""How long a build of a CUDA extension takes, in relation to its compilers alone.

    python benchmarks/builds.py [PROJECT] [--rounds N]

PROJECT is a folder with a setup.py; without one, `tests/building/projects/operators`, two files with PyTorch's headers. Each round
copies it, builds it by `setup.py build_ext --inplace` with one job, and notes how long each run of g++ takes that compiles or
links, which is what compiling the ported sources directly costs. Everything else (Python, torch, porting, reading launches, and
preprocessing for that) is torchada's and the simulated toolkit's. Both are given by the clock and in processor time; on a machine
with other load, the latter says more.
"""

from __future__ import annotations

import argparse
import os
import re
import resource
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

CHECKOUT = Path(__file__).resolve().parent.parent
DEFAULT = CHECKOUT / "tests" / "building" / "projects" / "operators"
# Runs g++, and notes what it took: whether it only preprocessed, the seconds by the clock, and those of the processor as `times` of
# the shell writes them. A shell begins in a thousandth of a second, which is counted as ours.
COMPILER = """#!/bin/sh
only=0
for word; do case $word in -E|-M|--version|-dumpversion) only=1;; esac; done
began=$(date +%s%N)
g++ "$@"
code=$?
{{ printf '%s %s ' $only $(( ($(date +%s%N) - began) / 1000000 )); times | tail -n 1; }} >> {record}
exit $code
"""
_PART = re.compile(r"(\d+)m([\d.]+)s")


def seconds_of(times: str) -> float:
    """User's and system's seconds of a line that `times` wrote, as in "0m6.01s 0m0.40s"."""
    return sum(60 * int(minutes) + float(seconds) for minutes, seconds in _PART.findall(times))


def build(project: Path) -> tuple[float, float, float, float]:
    """Seconds of a build and of its compilers: by the clock, of the processor."""
    with tempfile.TemporaryDirectory() as name:
        folder, record = Path(name) / "project", Path(name) / "record"
        shutil.copytree(project, folder)
        compiler = Path(name) / "g++"
        compiler.write_text(COMPILER.format(record=shlex.quote(str(record))), encoding="utf-8")
        compiler.chmod(0o755)
        environment = {**os.environ, "CXX": str(compiler), "MAX_JOBS": "1", "TORCHADA_SIMULATE": "1"}
        before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
        command = [sys.executable, "setup.py", "-q", "build_ext", "--inplace"]
        done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
        wall, after = time.monotonic() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
        if done.returncode:
            raise SystemExit(f"{project} cannot be built:\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}")
        processor = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        runs = [line.split(" ", 2) for line in record.read_text(encoding="utf-8").splitlines()]
    compiling = [(int(milliseconds) / 1000, seconds_of(times)) for only, milliseconds, times in runs if only == "0"]
    return wall, processor, sum(run[0] for run in compiling), sum(run[1] for run in compiling)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("project", type=Path, nargs="?", default=DEFAULT)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    build(options.project)  # the toolkit and the simulator are made once
    rounds = [build(options.project) for _ in range(options.rounds)]
    wall, processor, compilers, compiling = (median(column) for column in zip(*rounds))
    print(f"by the clock:     {wall:7.2f} s, of which compilers {compilers:7.2f} s: {wall / compilers:.3f}")
    print(f"of the processor: {processor:7.2f} s, of which compilers {compiling:7.2f} s: {processor / compiling:.3f}")


if __name__ == "__main__":
    main()
