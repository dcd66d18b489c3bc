# PYTHON_ARGCOMPLETE_OK
"""The `torchada` command: `run` a program with redirection, `port` CUDA sources, `check` a project, show the `status`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from difflib import get_close_matches
from importlib import import_module

from torchada.base.version import __version__
from torchada.cli.command import Command

# Adding one takes a file here with a COMMAND, and its name in this line.
COMMANDS = ("run", "port", "check", "build", "verify", "bench", "doctor", "info", "explain", "status", "views")
_AFTER = """\
-q prints less and -v more; the help of each command says what.
Exit code 2: the arguments are wrong, or something failed; each command describes its others.

Completion in bash, zsh and fish needs the package argcomplete (pip install 'torchada[completion]'); in bash:
  eval "$(register-python-argcomplete torchada)"
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Entry point of the console script; returns the exit code."""
    return execute(COMMANDS, "torchada", arguments)


def execute(names: Sequence[str], program: str, arguments: Sequence[str] | None = None) -> int:
    """Act on a command line (by default the process's) of the program `program`, which has the commands `names`."""
    from torchada.cli import ending, visible

    given = list(sys.argv[1:] if arguments is None else arguments)
    command = f"{program} {given[0]}" if given and given[0] in names else program
    with visible.streams():
        return ending.in_one_line(command, lambda: _act(names, program, given))


def _act(names: Sequence[str], program: str, given: list[str]) -> int:
    from torchada.cli import completion

    commands = {name: _load(name) for name in names}
    parser = _parser(commands, program)
    completion.complete(parser)
    _check_command(given, parser, names)
    rest: list[str] = []
    split = commands[given[0]].split if given and given[0] in commands else None
    if split is not None:
        own, rest = split(given[1:])
        given = [given[0], *own]
    options, unknown = parser.parse_known_args(given)
    if unknown:
        options.parser.error(f"unrecognized arguments: {' '.join(unknown)}")
    options.program = rest
    code: int = options.act(options)
    return code


def _check_command(given: Sequence[str], parser: argparse.ArgumentParser, names: Sequence[str]) -> None:
    """Where no command is given, list them all; where there is none of that name, say which one may have been meant."""
    if not given:
        parser.print_help(sys.stderr)
        raise SystemExit(2)
    if not given[0].startswith("-") and given[0] not in names:
        likely = get_close_matches(given[0], names, 1)
        hint = f"did you mean {likely[0]}?" if likely else f"there are {', '.join(names)}"
        parser.error(f"there is no command {given[0]!r}: {hint}")


def _load(name: str) -> Command:
    command: Command = import_module(f"{__name__}.{name}").COMMAND
    return command


def _parser(commands: dict[str, Command], program: str) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog=program,
        description="Unchanged CUDA PyTorch code on Moore Threads (MUSA) GPUs.",
        epilog=_AFTER,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"torchada {__version__}")
    group = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name, command in commands.items():
        command.add(name, group)
    return parser
