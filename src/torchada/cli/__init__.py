"""The `torchada` command: `run` a program with redirection, `port` CUDA sources, or show the `status`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from torchada import __version__


def main(arguments: Sequence[str] | None = None) -> int:
    """Entry point of the console script; returns the exit code."""
    parser = argparse.ArgumentParser(prog="torchada", description=__doc__)
    parser.add_argument("--version", action="version", version=f"torchada {__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    from torchada.cli import pipes, port, run, status

    run.add_parser(commands)
    port.add_parser(commands)
    status.add_parser(commands)
    given = list(sys.argv[1:] if arguments is None else arguments)
    program: list[str] = []
    if given[:1] == ["run"]:
        own, program = run.split(given[1:])
        given = ["run", *own]
    options = parser.parse_args(given, argparse.Namespace(program=program))
    return pipes.quiet(lambda: options.act(options))
