"""`torchada run script.py args...`: `python script.py args...` with redirection asked for.

The process becomes that command (exec), so argv, exit code, signals, standard input and tracebacks are python's own.
"""

from __future__ import annotations

import argparse
import os
import shlex
import sys

from torchada.cli import commands_in_front, device, gdb, unredirected
from torchada.cli.command import Command, check_reports
from torchada.cli.program import split

# Selects our warnings by the beginning of their text, because python reads this variable before it can import their category.
_NO_WARNINGS = "ignore:torchada:RuntimeWarning"


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what the command takes."""
    device.arguments(parser)
    seen = parser.add_mutually_exclusive_group()
    seen.add_argument(
        "--view",
        choices=("caller", "cuda", "musa"),
        help="set TORCHADA_VIEW: who sees CUDA, and who sees MUSA; by default each package by what it knows",
    )
    seen.add_argument(
        "--honest", action="store_const", const="musa", dest="view", help="the same as --view musa: all code sees MUSA"
    )
    seen.add_argument(
        "--force", action="store_true", help="torch.cuda.is_available() is True for all code, PyTorch's own included"
    )
    parser.add_argument(
        "--report",
        metavar="FILE",
        action="append",
        default=[],
        help="write which APIs of CUDA were used, from where, and what answered: .json or .html; or how operators were computed, "
        "to attach to a pull request: .md; may be given more than once",
    )
    gdb.argument(parser)
    parser.add_argument(
        "words",
        nargs="*",
        metavar="PROGRAM",
        help="script.py, -m module or -c code, and its arguments; -- ends our options",
    )


def run(options: argparse.Namespace) -> int:
    """Become `python PROGRAM...`; returns only when there is no program."""
    if not options.program:
        options.parser.error("nothing to run: expected script.py, -m module or -c code")
    device.check(options)
    gdb.check(options)
    added = environment(options)
    os.environ.update(added)
    why = unredirected.check(options)
    if not why:
        added.update(_commands_in_front())
        os.environ.update(added)
    _begin_reports(options, why)
    command = gdb.command(options, [sys.executable, *options.program])
    if options.verbosity > 0:
        assignments = [f"{name}={shlex.quote(value)}" for name, value in added.items()]
        print("torchada run:", *assignments, shlex.join(command), file=sys.stderr)
    sys.stdout.flush()
    sys.stderr.flush()
    os.execvp(command[0], command)


def environment(options: argparse.Namespace) -> dict[str, str]:
    """The variables that the program gets besides those it inherits."""
    added = {**device.environment(options), **gdb.environment(options)}
    if options.simulate:
        added["TORCHADA_SIMULATE_REQUIRED"] = "1"
    if options.view:
        added["TORCHADA_VIEW"] = options.view
    if options.force:
        added["TORCHADA_FORCE_CUDA_AVAILABLE"] = "1"
    if options.report:
        added["TORCHADA_REPORT"] = os.pathsep.join(map(os.path.abspath, options.report))
    if options.verbosity < 0:
        added["PYTHONWARNINGS"] = ",".join(filter(None, [os.environ.get("PYTHONWARNINGS"), _NO_WARNINGS]))
    return added


def _commands_in_front() -> dict[str, str]:
    folder = commands_in_front.folder()
    return {} if folder is None else {"PATH": os.pathsep.join(filter(None, [folder, os.environ.get("PATH")]))}


def _begin_reports(options: argparse.Namespace, why: str) -> None:
    """Write empty reports, to which every process of the program will add; old ones must not be added to.

    `why` says why nothing is redirected, and so nothing will be recorded; it is empty where something is.
    """
    if not options.report:
        return
    from torchada.telemetry import report

    check_reports(options, report.SUFFIXES)
    for file in options.report:
        if os.pathsep in file:  # the separator in TORCHADA_REPORT
            options.parser.error(f"--report {file}: expected a name without {os.pathsep!r}")
    document = report.empty(options.program, os.getcwd(), inactive=why)
    for file in options.report:
        try:
            report.store([file], document)
        except OSError as error:
            options.parser.error(f"--report {file}: {error.strerror}")


COMMAND = Command(
    summary="run a program as python would, on the MUSA device",
    usage="torchada run [-h] [-q | -v] [--on cpu] [--simulate] [--platform P] [--view V | --honest | --force]\n"
    "                    [--report FILE] [--gdb[=PLACE]] [options of python] (script.py | -m module | -c code) [args...]",
    description="Run a program as python would, on the MUSA device. The exit code is the program's.",
    quiet="do not show torchada's warnings in the program, nor say that nothing is redirected",
    verbose="print the command and the variables that are set for it first",
    arguments=arguments,
    act=run,
    split=split,
)
