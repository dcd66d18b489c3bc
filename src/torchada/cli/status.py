"""`torchada status`, and its other door `python -m torchada.hooks status`."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from typing import Any

from torchada.cli import pipes
from torchada.hooks import status


def add_parser(commands: Any) -> None:
    """Add the `status` command to a set of sub-parsers."""
    parser = commands.add_parser(
        "status",
        help="show what is redirected, and why",
        description="Exit code 0: active; 1: inactive; 2: something failed.",
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--probe", action="store_true", help="import torch first, and so show the full picture")
    parser.set_defaults(act=show)


def show(options: argparse.Namespace) -> int:
    """Print the report; returns the exit code."""
    problem = _import_torch() if options.probe else None
    found = status.report()
    if problem is not None:
        found["problems"].append(problem)
    print(json.dumps(found, indent=2) if options.json else status.as_text(found))
    return status.exit_code(found)


def _import_torch() -> str | None:
    try:
        import torch  # noqa: F401
    except Exception as error:
        return f"torch cannot be imported: {type(error).__name__}: {error}"
    return None


def main(arguments: Sequence[str], program: str) -> int:
    """The command line of `python -m torchada.hooks`."""
    parser = argparse.ArgumentParser(prog=program)
    add_parser(parser.add_subparsers(dest="command", required=True, metavar="COMMAND"))
    options = parser.parse_args(arguments)
    return pipes.quiet(lambda: options.act(options))
