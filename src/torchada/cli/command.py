"""What a command of `torchada` is made of."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple


class Command(NamedTuple):
    """One command. `quiet` and `verbose` say what -q and -v mean for it; `act` reads them from `options.verbosity`, -1, 0 or 1.

    `split` separates our own arguments from those of a program that follows them, for a command that takes one; `act` reads the
    latter from `options.program`.
    """

    summary: str
    quiet: str
    verbose: str
    arguments: Callable[[argparse.ArgumentParser], None]
    act: Callable[[argparse.Namespace], int]
    description: str | None = None
    usage: str | None = None
    split: Callable[[Sequence[str]], tuple[list[str], list[str]]] | None = None

    def add(self, name: str, commands: Any) -> None:
        """Add the command to a set of sub-parsers; `options.parser.error(text)` ends it with its usage and exit code 2."""
        parser = commands.add_parser(
            name,
            help=self.summary,
            description=self.description or f"{self.summary[0].upper()}{self.summary[1:]}.",
            usage=self.usage,
            allow_abbrev=False,
        )
        self.arguments(parser)
        detail = parser.add_mutually_exclusive_group()
        for sign, flag, meaning in ((-1, "quiet", self.quiet), (1, "verbose", self.verbose)):
            detail.add_argument(
                f"-{flag[0]}", f"--{flag}", action="store_const", const=sign, dest="verbosity", help=meaning
            )
        parser.set_defaults(act=self.act, parser=parser, verbosity=0)


def check_reports(options: argparse.Namespace, suffixes: Sequence[str]) -> None:
    """Before anything else, exit with the usage if a file of `--report` could not be written."""
    for file in options.report:
        folder = os.path.dirname(file) or "."
        if not file.endswith(tuple(suffixes)):
            options.parser.error(f"--report {file}: expected a name that ends in {' or '.join(suffixes)}")
        if os.path.isdir(file):
            options.parser.error(f"--report {file}: this is a folder")
        if not os.path.isdir(folder):
            options.parser.error(f"--report {file}: there is no folder {folder}")


def positive(text: str) -> int:
    """A whole number from 1 on, for argparse."""
    try:
        number = int(text)
    except ValueError:
        number = 0
    if number < 1:
        raise argparse.ArgumentTypeError(f"expected a whole number from 1 on, got {text!r}")
    return number


def limit_of_imports(parser: argparse.ArgumentParser) -> None:
    """Declare --timeout, for commands that import torch and the adapter in processes of their own."""
    parser.add_argument(
        "--timeout",
        type=positive,
        default=120,
        metavar="SECONDS",
        help="how long each import in a process of its own may take (default: 120)",
    )
