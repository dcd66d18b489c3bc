"""`torchada run script.py args...`: `python script.py args...` with redirection asked for.

The process becomes that very command (exec), so argv, exit code, signals, standard input and tracebacks are python's own.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from typing import Any

from torchada import _settings
from torchada.hooks import startup_files

OWN = ("-h", "--help", "--simulate", "--platform", "--honest", "--report")
_WITH_VALUE = ("--platform", "--report")


def add_parser(commands: Any) -> None:
    """Add the `run` command to a set of sub-parsers."""
    parser = commands.add_parser(
        "run",
        help="run a program as python would, with torch.cuda.is_available() answering for the MUSA device",
        usage="torchada run [--simulate] [--platform P] [--honest] [--report FILE] (script.py | -m module | -c code) [args...]",
    )
    parser.add_argument(
        "--simulate", action="store_true", help="use the simulator where no real torch_musa is installed"
    )
    parser.add_argument("--platform", metavar="P", help="set TORCHADA_PLATFORM: musa, cuda, cpu or auto")
    parser.add_argument(
        "--honest", action="store_true", help="leave torch.cuda.is_available() as it is (False on MUSA)"
    )
    parser.add_argument(
        "--report",
        metavar="FILE",
        action="append",
        default=[],
        help="write which APIs of CUDA were used, from where, and what answered: .json or .html; may be given more than once",
    )
    parser.set_defaults(act=run, parser=parser)


def split(arguments: Sequence[str]) -> tuple[list[str], list[str]]:
    """Our own options, and what would follow `python`: that begins at the first argument that is not ours.

    Not left to argparse, which takes the -m of `run -m module` and the options of the program for its own.
    """
    end = 0
    while end < len(arguments) and arguments[end].partition("=")[0] in OWN:
        end += 2 if arguments[end] in _WITH_VALUE else 1
    rest = list(arguments[end:])
    return list(arguments[:end]), rest[1:] if rest[:1] == ["--"] else rest


def run(options: argparse.Namespace) -> int:
    """Become `python PROGRAM...`; returns only when there is no program."""
    program = options.program
    if not program:
        options.parser.error("nothing to run: expected script.py, -m module or -c code")
    for file in options.report:
        begin_report(file, options)
    os.environ.update(environment(options))
    sys.stdout.flush()
    sys.stderr.flush()
    os.execv(sys.executable, [sys.executable, *program])


def environment(options: argparse.Namespace) -> dict[str, str]:
    """The variables that the program gets beyond those it inherits; what the user has set already is left as it is."""
    added = {}
    if options.simulate:
        added["TORCHADA_SIMULATE"] = "1"
    if options.platform:
        added["TORCHADA_PLATFORM"] = options.platform
    if not options.honest and "TORCHADA_FORCE_CUDA_AVAILABLE" not in _settings.in_force():
        added["TORCHADA_FORCE_CUDA_AVAILABLE"] = "1"
    if options.report:
        added["TORCHADA_REPORT"] = os.pathsep.join(map(os.path.abspath, options.report))
    return {**added, **_python_path()}


def begin_report(file: str, options: argparse.Namespace) -> None:
    """Write an empty report, to which every process of the program will add; an old one must not be added to."""
    from torchada.telemetry import report

    if not file.endswith(report.SUFFIXES) or os.pathsep in file:
        options.parser.error(
            f"--report {file}: expected a name that ends in {' or '.join(report.SUFFIXES)}, without {os.pathsep!r}"
        )
    try:
        report.store([file], report.empty(options.program, os.getcwd()))
    except OSError as error:
        options.parser.error(f"--report {file}: {error.strerror}")


def _python_path() -> dict[str, str]:
    """Where no start-up file is in force (a source tree on PYTHONPATH), sitecustomize does its work."""
    folder = startup_files.sitecustomize_folder()
    if startup_files.in_force() is not None or folder is None:
        return {}
    # torchada itself may be importable here by the current directory alone; last, it hides nothing.
    package = str(startup_files.PACKAGE.parent)
    entries = [str(folder), os.environ.get("PYTHONPATH"), package]
    return {"PYTHONPATH": os.pathsep.join(entry for entry in entries if entry)}
