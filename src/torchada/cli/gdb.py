"""`torchada run --gdb`: the program under gdb. On the simulator a kernel is a function of the process, so it stops in its lines."""

from __future__ import annotations

import argparse
import os
import shutil
from collections.abc import Sequence

# Kernels that are built meanwhile (load, load_inline) have names of variables, and a line for each statement.
_FLAGS = "-g -O0"
_VARIABLE = "NVCC_APPEND_FLAGS"
# What a kernel knows of itself. gdb takes no declaration for a variable, and the simulator has no notes for debuggers.
_INDICES = (
    ("threadIdx", "uint3", "thread_index"),
    ("blockIdx", "uint3", "block_index"),
    ("blockDim", "dim3", "block_extent"),
    ("gridDim", "dim3", "grid_extent"),
)
# A kernel's library is loaded by the program, so a breakpoint in it waits until then.
_SETTINGS = (
    "set debuginfod enabled off",
    "set auto-load python-scripts off",
    "set breakpoint pending on",
    "set print thread-events off",
)


def argument(parser: argparse.ArgumentParser) -> None:
    """Declare --gdb."""
    parser.add_argument(
        "--gdb",
        nargs="?",
        const="",
        metavar="PLACE",
        help="run under gdb, and stop at PLACE (module.cpp:7). On the simulator, PLACE may be in a kernel, which stops in each "
        "of its threads or in those of a condition: --gdb='kernel.cu:7 if threadIdx.x == 3'",
    )


def check(options: argparse.Namespace) -> None:
    """Exit with the usage where there is no gdb."""
    if options.gdb is not None and shutil.which("gdb") is None:
        options.parser.error("--gdb: there is no gdb on the PATH (Debian, Ubuntu: apt install gdb)")


def environment(options: argparse.Namespace) -> dict[str, str]:
    """The variables for a program under gdb."""
    if options.gdb is None:
        return {}
    given = os.environ.get(_VARIABLE, "")
    return {_VARIABLE: given if _FLAGS in given else f"{given} {_FLAGS}".strip()}


def command(options: argparse.Namespace, program: Sequence[str]) -> list[str]:
    """The command that runs `program`, in gdb where that is asked for."""
    if options.gdb is None:
        return list(program)
    indices = (f"macro define {name} (*({kind}*)&musasim_{symbol})" for name, kind, symbol in _INDICES)
    settings = [word for setting in (*_SETTINGS, *indices) for word in ("-iex", setting)]
    stop = ["-ex", f"break {options.gdb}"] if options.gdb else []
    return ["gdb", "-q", *settings, *stop, "-ex", "run", "--args", *program]
