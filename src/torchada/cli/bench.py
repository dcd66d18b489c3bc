"""`torchada bench`: the same programs on the device and on the CPU."""

from __future__ import annotations

import argparse
import sys
from typing import Any

from torchada.cli import device, ending, output
from torchada.cli.command import Command, check_reports
from torchada.report.terminal import Terminal

_SUFFIXES = (".json", ".html")


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what the command takes."""
    parser.add_argument(
        "--seconds",
        type=_seconds,
        default=3.0,
        metavar="N",
        help="time for each benchmark, from which sizes follow (3)",
    )
    parser.add_argument(
        "--only",
        metavar="NAME",
        action="append",
        default=[],
        help="a benchmark (matmul.float16) or several (matmul); may be given more than once",
    )
    device.arguments(parser)
    output.arguments(parser, "bench", _SUFFIXES)


def _seconds(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = 0.0
    if not 0 < number <= 600:
        raise argparse.ArgumentTypeError(f"expected seconds, more than 0 and up to 600, got {text!r}")
    return number


def bench(options: argparse.Namespace) -> int:
    """Take the times; returns the exit code."""
    from torchada.tools.bench import page, report, text

    device.check(options)
    check_reports(options, _SUFFIXES)
    try:
        document: dict[str, Any] = report.run(options.seconds, options.only, device.environment(options))
    except report.NoSuchBenchmark as error:
        options.parser.error(f"--only {error}")
    if document["problem"] and not options.json:
        print("\n".join(text.lines(document, Terminal(sys.stderr))), file=sys.stderr)
    else:
        output.show(options, document, lambda terminal: text.lines(document, terminal, options.verbosity))
    written = output.write(options, {".json": lambda: output.as_json(document), ".html": lambda: page.page(document)})
    return ending.code(options, document, report.exit_code(document)) if written else 2


COMMAND = Command(
    summary="compare the speed of the device with that of the CPU",
    description="Run the same programs on the device and on the CPU, in turns, and print how their times compare. "
    "Exit code 0: done; 1: something could not be measured; 2: nothing could be.",
    quiet="print the table alone",
    verbose="print what each benchmark does, and the range of its times",
    arguments=arguments,
    act=bench,
)
