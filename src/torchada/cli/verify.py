"""`torchada verify`: a battery of CUDA programs on the device, compared with the CPU."""

from __future__ import annotations

import argparse
import sys

from torchada.cli import device, ending, output
from torchada.cli.command import Command, check_reports
from torchada.report.terminal import Terminal

_LEVELS = ("quick", "standard", "full")


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what the command takes."""
    parser.add_argument(
        "--level",
        choices=_LEVELS,
        default="standard",
        help="quick: seconds; standard (the default): about a minute; full: minutes, with more data types and large inputs",
    )
    parser.add_argument(
        "--only",
        metavar="NAME",
        action="append",
        default=[],
        help="a group (pointwise) or a check (pointwise.add.float32); may be given more than once",
    )
    parser.add_argument("--list", action="store_true", help="print the names of the checks, and run none")
    device.arguments(parser)
    output.arguments(parser, "verify", (".json", ".html"))


def verify(options: argparse.Namespace) -> int:
    """Run the checks; returns the exit code."""
    from torchada.tools.verify import report, run

    device.check(options)
    check_reports(options, (".json", ".html"))
    try:
        if options.list:
            return _list(options)
        document = run.run(options.level, options.only, device.environment(options))
    except run.NoSuchCheck as error:
        options.parser.error(f"--only {error}")
    _show(options, document)
    return ending.code(options, document, report.exit_code(document)) if _write(options, document) else 2


def _list(options: argparse.Namespace) -> int:
    from torchada.tools.runner.child import Ended
    from torchada.tools.verify import run

    try:
        tasks = run.tasks(device.environment(options), options.level, options.only)
    except Ended as ended:
        print(f"torchada verify: {ended.detail}\n{ended.log}", file=sys.stderr)
        return 2
    print("\n".join(task["name"] for task in tasks))
    return 0


def _show(options: argparse.Namespace, document: dict[str, object]) -> None:
    from torchada.tools.verify import text

    if document["problem"] and not options.json:
        print("\n".join(text.lines(document, Terminal(sys.stderr))), file=sys.stderr)
        return
    output.show(options, document, lambda terminal: text.lines(document, terminal, options.verbosity))


def _write(options: argparse.Namespace, document: dict[str, object]) -> bool:
    from torchada.tools.verify import page

    return output.write(options, {".json": lambda: output.as_json(document), ".html": lambda: page.page(document)})


COMMAND = Command(
    summary="check that the device computes what the CPU computes",
    description="Check that the device computes what the CPU computes: operators, gradients, mixed precision, optimizers, graphs, "
    "streams, collectives, checkpoints and training. Exit code 0: no fault; 1: faults; 2: nothing could be checked.",
    quiet="print the faults and the last line only",
    verbose="print every check, and the traceback of each fault",
    arguments=arguments,
    act=verify,
)
