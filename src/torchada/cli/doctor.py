"""`torchada doctor`: what is wrong with this environment, and what to do."""

from __future__ import annotations

import argparse

from torchada.cli import output
from torchada.cli.command import Command, limit_of_imports


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what the command takes."""
    limit_of_imports(parser)
    output.arguments(parser, "doctor", (".json",))


def doctor(options: argparse.Namespace) -> int:
    """Examine; returns the exit code."""
    from torchada.cli.command import check_reports
    from torchada.tools.doctor import backend_here, document, examine, gather, is_healthy
    from torchada.tools.doctor.examine import lines

    check_reports(options, (".json",))
    facts = gather(backend_here(), options.timeout)
    results = examine(facts)
    report = document(facts, results)
    output.show(options, report, lambda terminal: lines(results, options.verbosity, terminal.painted, terminal.table))
    if not output.write(options, {".json": lambda: output.as_json(report)}):
        return 2
    return 0 if is_healthy(results) else 1


COMMAND = Command(
    summary="show what is wrong with this environment, and what to do",
    description="Show what is wrong with this environment, and what to do. torch and its adapter are imported in processes of "
    "their own. Exit code 0: healthy; 1: there are problems; 2: it failed.",
    quiet="print problems only",
    verbose="print where each fact is from, and the versions that belong together",
    arguments=arguments,
    act=doctor,
)
