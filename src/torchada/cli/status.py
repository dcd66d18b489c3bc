"""`torchada status`: what is redirected in a process such as this one, and why."""

from __future__ import annotations

import argparse
import json
import warnings

from torchada.base.warnings import TorchadaWarning
from torchada.cli import status_text
from torchada.cli.command import Command
from torchada.control import status
from torchada.report import schemas


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what the command takes."""
    parser.add_argument(
        "--json", action="store_true", help="print JSON, as torchada/report/schemas/status.json describes it"
    )
    parser.add_argument(
        "--all", action="store_true", help="list each module, area, workaround and view, in place of numbers"
    )
    parser.add_argument("--probe", action="store_true", help="import torch first, and so show the full picture")


def show(options: argparse.Namespace) -> int:
    """Print the report; returns the exit code."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TorchadaWarning)  # the report lists them
        problem = _import_torch() if options.probe else None
        document = {**schemas.envelope("status"), **status.report()}
    if problem is not None:
        document["problems"].append(problem)
    if options.json:
        print(json.dumps(document, indent=2))
    else:
        everything = options.all or options.verbosity > 0
        apis = status.apis() if options.verbosity > 0 else None
        print(status_text.as_text(document, options.verbosity, everything, apis))
    return status.exit_code(document)


def _import_torch() -> str | None:
    try:
        import torch  # noqa: F401
    except Exception as error:
        return f"torch cannot be imported: {type(error).__name__}: {error}"
    return None


COMMAND = Command(
    summary="show what is redirected, and why",
    description="Show what is redirected, and why. Exit code 0: active; 1: inactive; 2: something failed.",
    quiet="print the first line, problems and warnings only",
    verbose="as --all, with the APIs of CUDA that each area redirects",
    arguments=arguments,
    act=show,
)
