"""`torchada check`: what a project uses of CUDA, read from its sources and not run."""

from __future__ import annotations

import argparse
import os
import sys
from typing import TYPE_CHECKING

from torchada.cli import ending, output
from torchada.cli.command import Command, check_reports
from torchada.report.severity import SEVERITIES, exit_code
from torchada.report.terminal import Terminal

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
        help="the severity from which on the exit code is 1 (default: error)",
    )
    parser.add_argument(
        "--torch-musa",
        metavar="RELEASE",
        default="",
        help="the release of torch_musa whose answers count: 2.7.1, 2.9.1 or 2.11.0 (default: the installed one, else the newest)",
    )
    for name, meaning in (
        ("select", "report findings of these codes only"),
        ("ignore", "leave out findings of these codes"),
    ):
        parser.add_argument(
            f"--{name}", metavar="CODE", action="append", default=[], help=f"{meaning}, as in cuda-api,not-read"
        )
    parser.add_argument(
        "--dependencies",
        action="store_true",
        help="judge the installed packages as well, through what the project calls of them",
    )
    parser.add_argument("--baseline", metavar="FILE", help="leave out the findings that the file has")
    parser.add_argument(
        "--write-baseline", metavar="FILE", help="write all findings into the file, to accept them, and print nothing"
    )
    parser.add_argument(
        "--statistics", action="store_true", help="print numbers by code and by effort, in place of the findings"
    )
    output.arguments(parser, "check", _SUFFIXES)


def check(options: argparse.Namespace) -> int:
    """Check; returns the exit code."""
    from torchada.tools.check import baseline, configuration, report
    from torchada.tools.check import check as check_project
    from torchada.tools.check.dependencies import Dependencies

    check_reports(options, _SUFFIXES)
    for path in options.paths:
        if not os.path.exists(path):
            options.parser.error(f"{path}: no such file or folder")
    try:
        wanted = configuration.of(options.paths).with_options(
            options.select, options.ignore, options.exclude, options.torch_musa
        )
        known = options.baseline or wanted.baseline
        accepted = baseline.read(known) if known and not options.write_baseline else None
    except (configuration.ConfigurationError, baseline.BaselineError) as error:
        options.parser.error(str(error))
    dependencies = Dependencies() if options.dependencies else None
    result = check_project(options.paths, configuration=wanted, dependencies=dependencies)
    if options.write_baseline:
        return _write_baseline(options, baseline.write(result.findings))
    if accepted is not None:
        result.accept(baseline.new(result.findings, accepted))
    document = report.document(result)
    output.show(options, document, lambda terminal: _lines(options, result, terminal))
    if not output.write(options, _writers(result, document)):
        return 2
    fail_on = options.fail_on or wanted.fail_on or SEVERITIES[0]
    code = exit_code((finding.severity for finding in result.findings), fail_on)
    return ending.code(options, vars(result), code)


def _lines(options: argparse.Namespace, result: Result, terminal: Terminal) -> list[str]:
    from torchada.tools.check import report

    if options.statistics:
        return report.statistics(result, terminal.table)
    return report.lines(result, options.verbosity, terminal.painted, terminal.table)


def _write_baseline(options: argparse.Namespace, text: str) -> int:
    try:
        output.write_whole(options.write_baseline, text)
    except OSError as error:
        print(f"torchada check: --write-baseline {options.write_baseline}: {error.strerror}", file=sys.stderr)
        return 2
    return 0


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
    "Exit code 0: done; 1: it found something of the severity of --fail-on or a worse one; 2: it failed.",
    quiet="print what does not work and what is to be looked at, and no more",
    verbose="list every place",
    arguments=arguments,
    act=check,
)
