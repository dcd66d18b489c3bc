"""`torchada explain CODE`: what a finding or a problem means, why that matters, and what to do."""

from __future__ import annotations

import argparse
import json
import sys
from difflib import get_close_matches

from torchada.cli import output
from torchada.cli.command import Command
from torchada.report import schemas
from torchada.report.explanations import Explanation, address
from torchada.report.terminal import Terminal


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what the command takes."""
    code = parser.add_argument(
        "code", nargs="?", metavar="CODE", help="as a command of torchada prints it; without one, all are listed"
    )
    code.completer = lambda **_: list(explanations())  # type: ignore[attr-defined]
    output.arguments(parser, "explain")


def explanations() -> dict[str, Explanation]:
    """All of them, by code."""
    from torchada.report import explained_answers
    from torchada.tools.check import explained as of_check
    from torchada.tools.doctor import explained as of_doctor

    tables = (of_check.EXPLANATIONS, explained_answers.EXPLANATIONS, of_doctor.EXPLANATIONS)
    return {explanation.code: explanation for table in tables for explanation in table}


def explain(options: argparse.Namespace) -> int:
    """Print one explanation, or a list of them; returns the exit code."""
    known = explanations()
    if options.code is not None and options.code not in known:
        likely = get_close_matches(options.code, known, 1)
        hint = f"did you mean {likely[0]}?" if likely else "`torchada explain` lists them"
        options.parser.error(f"there is no code {options.code!r}: {hint}")
    chosen = list(known.values()) if options.code is None else [known[options.code]]
    if options.json:
        entries = [{**one._asdict(), "page": address(one.page)} for one in chosen]
        print(json.dumps({**schemas.envelope("explain"), "explanations": entries}, indent=2))
    elif options.code is None and options.verbosity <= 0:
        print("\n".join(Terminal(sys.stdout).table([(one.code, one.command, one.meaning) for one in chosen], "")))
    else:
        print("\n\n".join("\n".join(_lines(one, options.verbosity)) for one in chosen))
    return 0


def _lines(one: Explanation, verbosity: int) -> list[str]:
    lines = [f"{one.code} (torchada {one.command})"]
    rows = [("what", one.meaning), ("why", one.why), ("to do", one.advice), ("more", address(one.page))]
    return [*lines, *Terminal(sys.stdout).table(rows[: 1 if verbosity < 0 else 4])]


COMMAND = Command(
    summary="say what a code means that torchada prints, and what to do",
    description="Say what a code means that torchada prints, why that matters, and what to do: the rules of check, the problems of "
    "doctor, the kinds of answers in reports. Exit code 0: done; 2: there is no such code.",
    quiet="print what it means, and no more",
    verbose="without a code, print each in full",
    arguments=arguments,
    act=explain,
)
