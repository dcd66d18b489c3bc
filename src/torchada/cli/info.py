"""`torchada info`: one screen about this environment, to paste into an issue."""

from __future__ import annotations

import argparse

from torchada.cli import output
from torchada.cli.command import Command, limit_of_imports
from torchada.report.terminal import Terminal

_FEW = ("torchada", "platform", "torch", "devices", "Python", "problems")


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what the command takes."""
    limit_of_imports(parser)
    output.arguments(parser, "info")


def info(options: argparse.Namespace) -> int:
    """Print the screen; returns the exit code."""
    from torchada.tools.doctor import backend_here, examine, gather
    from torchada.tools.doctor.info import document

    facts = gather(backend_here(), options.timeout)
    report = document(facts, examine(facts))
    entries = [
        entry for entry in report["entries"] if options.verbosity >= 0 or entry["name"] in (*_FEW, facts.adapter_name)
    ]
    output.show(options, report, lambda terminal: _lines(terminal, entries))
    if options.verbosity > 0 and not options.json:
        print("\n".join(f"{package.name} {package.version} in {package.folder}" for package in facts.distributions))
    return 0


def _lines(terminal: Terminal, entries: list[dict[str, str]]) -> list[str]:
    return terminal.table([(entry["name"], entry["value"]) for entry in entries], indent="")


COMMAND = Command(
    summary="print one screen about this environment, to paste into an issue",
    description="Print one screen about this environment, to paste into an issue: versions, platform, devices, variables that "
    "matter, problems. Homes are shortened, and neither host nor user is named. Exit code 0: done.",
    quiet="print versions, devices and problems only",
    verbose="list the folder of each distribution as well, which names your folders",
    arguments=arguments,
    act=info,
)
