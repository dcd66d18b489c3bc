"""`torchada check`: what a project uses of CUDA, read from its sources and not run."""

from __future__ import annotations

import argparse
import os
from typing import TYPE_CHECKING

from torchada.cli import ending, output
from torchada.cli.command import Command, check_reports
from torchada.report.severity import SEVERITIES, exit_code

if TYPE_CHECKING:
    from torchada.tools.check import Result

_SUFFIXES = (".json", ".html", ".sarif")


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what the command takes."""
    parser.add_argument("paths", nargs="+", metavar="PATH", help="a folder or a file")
    parser.add_argument(
        "--exclude",
        metavar="PATTERN",
        action="append",
        default=[],
        help="leave out paths that match, as in 'tests' or 'docs/*'; may be given more than once",
    )
    parser.add_argument(
        "--fail-on",
        choices=SEVERITIES[:3],
        default=SEVERITIES[0],
        help="the severity from which on the exit code is 1 (default: error)",
    )
    output.arguments(parser, "check", _SUFFIXES)


def check(options: argparse.Namespace) -> int:
    """Check; returns the exit code."""
    from torchada.tools.check import check as check_project
    from torchada.tools.check import report

    check_reports(options, _SUFFIXES)
    for path in options.paths:
        if not os.path.exists(path):
            options.parser.error(f"{path}: no such file or folder")
    result = check_project(options.paths, options.exclude)
    document = report.document(result)
    output.show(
        options, document, lambda terminal: report.lines(result, options.verbosity, terminal.painted, terminal.table)
    )
    if not output.write(options, _writers(result, document)):
        return 2
    code = exit_code((finding.severity for finding in result.findings), options.fail_on)
    return ending.code(options, vars(result), code)


def _writers(result: Result, document: output.Document) -> dict[str, output.Writer]:
    from torchada.tools.check import page, sarif

    return {
        ".json": lambda: output.as_json(document),
        ".html": lambda: page.as_html(result),
        ".sarif": lambda: sarif.as_sarif(result),
    }


COMMAND = Command(
    summary="show what a project uses of CUDA, without running it",
    description="Read a project without running it: what it uses of CUDA and how each API is answered, what it asks about devices, "
    "what it needs of NVIDIA, and what in its CUDA sources cannot be ported. "
    "Exit code 0: done; 1: it found something of the severity of --fail-on; 2: it failed.",
    quiet="print what does not work and what is to be looked at, and no more",
    verbose="list every place",
    arguments=arguments,
    act=check,
)
