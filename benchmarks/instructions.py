"""How many instructions a training step takes under torchada: the program of `training.py` by both mechanisms, and the same program
written for MUSA in a process without redirection, on the same torch_musa (the simulator where there is no real one).

callgrind counts them for all threads. Other load and the placement of memory do not matter, so two counts of one program agree to
some ten thousandths, which `again` shows. valgrind does not support AVX-512, so computations run on AVX2: they take a larger part
of a step than without valgrind, and a ratio is a little nearer to 1. Therefore the difference is printed as well.

Needs valgrind with its headers, and a C++ compiler.

    python benchmarks/instructions.py [--steps N] [--backend inductor] [--save]
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

import record
from overhead import CHECKOUT, Worker, is_simulated
from transformer import PROGRAM
from worker import Plan

MUSA, AGAIN = "musa code", "musa code, again"
# Name: how torch is loaded, and the mechanism.
PROCESSES = {MUSA: ("native", "1"), AGAIN: ("native", "1"), "native": ("torchada", "1"), "portable": ("torchada", "0")}
WARM = 3
# The process itself switches counting on; callgrind_control would have to stop it from outside.
SWITCH = """
#include <valgrind/callgrind.h>
extern "C" void start() { CALLGRIND_START_INSTRUMENTATION; }
extern "C" void stop() { CALLGRIND_STOP_INSTRUMENTATION; }
"""
# Inductor compiles for this machine, with instructions that valgrind does not support.
COMPILER = """#!/bin/sh
for option; do
    shift
    [ "$option" = -march=native ] && option=-march=haswell
    set -- "$@" "$option"
done
exec {compiler} "$@"
"""
SETUP = """
import ctypes
import torch._inductor.config
torch._inductor.config.cpp.simdlen = 256
count = ctypes.CDLL({switch!r})
BACKEND = {backend!r}
"""


def tools(scratch: Path) -> dict[str, str]:
    """Make the switch and the compiler in `scratch`; returns the environment to count in. Raises RuntimeError."""
    compiler = shutil.which("g++")
    if shutil.which("valgrind") is None or compiler is None:
        raise RuntimeError("valgrind and g++ are needed, and one of them is not on PATH")
    (scratch / "switch.cpp").write_text(SWITCH)
    command = [compiler, "-shared", "-fPIC", "-o", str(scratch / "switch.so"), str(scratch / "switch.cpp")]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"valgrind's headers cannot be compiled: {done.stderr.strip()}")
    (scratch / "bin").mkdir()
    ours = scratch / "bin" / "g++"
    ours.write_text(COMPILER.format(compiler=compiler))
    ours.chmod(0o755)
    return {
        "PATH": f"{ours.parent}{os.pathsep}{os.environ['PATH']}",
        "ATEN_CPU_CAPABILITY": "avx2",
        "PYTHONHASHSEED": "0",
        "TORCHINDUCTOR_CACHE_DIR": str(scratch / "inductor"),
    }


def count(
    name: str, steps: int, backend: str | None, scratch: Path, variables: dict[str, str]
) -> tuple[float, dict[str, str]]:
    """Instructions of one step in a process of its own, and its versions. Raises RuntimeError with its last output."""
    kind, native = PROCESSES[name]
    program = PROGRAM if kind == "torchada" else PROGRAM.replace("cuda", "musa")
    setup = SETUP.format(switch=str(scratch / "switch.so"), backend=backend) + program
    plan = Plan(kind, [str(CHECKOUT), *sys.path], simulated=is_simulated(), setup=setup)
    variables = {**variables, "TORCHADA_NATIVE": native}
    if backend is not None:  # compiled without valgrind, in a tenth of the time; the counted process finds the result
        compiled = Worker(plan, scratch, variables)
        compiled.batch("step()", WARM)
        compiled.close()
    log = scratch / f"{name}.log"
    callgrind = [
        "valgrind",
        "--tool=callgrind",
        "--instr-atstart=no",
        f"--log-file={log}",
        "--callgrind-out-file=/dev/null",
    ]
    counted = Worker(plan, scratch, variables, under=callgrind)
    for statement, number in (("step()", WARM), ("count.start()", 1), ("step()", steps), ("count.stop()", 1)):
        counted.batch(statement, number)
    counted.finish()
    collected = re.search(r"Collected : (\d+)", log.read_text())
    if collected is None:
        raise RuntimeError(f"callgrind counted nothing: {log.read_text()[-500:]}")
    return int(collected[1]) / steps, counted.versions


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=5, help="steps to count (default 5)")
    parser.add_argument("--backend", help="torch.compile's backend (default: not compiled)")
    parser.add_argument("--save", action="store_true", help=f"append the results to {record.HISTORY.name}")
    options = parser.parse_args()
    how = f"compiled by {options.backend}" if options.backend else "eager"
    counts: dict[str, float] = {}
    try:
        with tempfile.TemporaryDirectory() as folder:
            scratch = Path(folder)
            variables = tools(scratch)
            for name in PROCESSES:
                counts[name], versions = count(name, options.steps, options.backend, scratch, variables)
                more = counts[name] - counts[MUSA]
                ratio = f"{counts[name] / counts[MUSA]:.5f} of {MUSA}, {more:+,.0f}"
                print(f"{how}, {name:16} {counts[name]:15,.0f} instructions per step, {ratio}", flush=True)
    except RuntimeError as error:
        print(f"instructions.py: {error}", file=sys.stderr)
        return 1
    if options.save:
        results = {"steps": options.steps, "backend": options.backend, "counts": counts}
        record.append("instructions", versions, results)
    return 0


if __name__ == "__main__":
    sys.exit(main())
