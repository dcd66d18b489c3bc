"""Where the options of `torchada run` end, and the command line of the program begins.

argparse cannot do this, because it takes the `-m` of `run -m module` and the options of the program for ours.
"""

from __future__ import annotations

from collections.abc import Sequence

OWN_WITH_VALUE = ("--platform", "--on", "--view", "--report")
OWN = (
    "-h",
    "--help",
    "-q",
    "--quiet",
    "-v",
    "--verbose",
    "--simulate",
    "--honest",
    "--force",
    "--gdb",
    *OWN_WITH_VALUE,
)
_FLAGS = frozenset("bBdEhiIOPRsStuVx?")  # python's options, as are those below
_WITH_VALUE = frozenset("WX")
_PROGRAM = frozenset("cm")
_LONG = ("--help-all", "--help-env", "--help-xoptions", "--version")
_LONG_WITH_VALUE = ("--check-hash-based-pycs",)


def split(arguments: Sequence[str]) -> tuple[list[str], list[str]]:
    """Our own arguments, and what would follow `python`: its options, the program and the program's arguments.

    Everything after `--` belongs to python. An option before the program that neither we nor python know is returned among ours.
    """
    own: list[str] = []
    pythons: list[str] = []
    at = 0
    while at < len(arguments):
        argument = arguments[at]
        if argument == "--":
            return own, [*pythons, *arguments[at + 1 :]]
        if argument.partition("=")[0] in OWN:
            into, taken = own, 2 if argument in OWN_WITH_VALUE else 1
        elif (known := _taken_by_python(argument)) == 0:
            break
        else:
            into, taken = (own, 1) if known is None else (pythons, known)
        into += arguments[at : at + taken]
        at += taken
    return own, [*pythons, *arguments[at:]]


def _taken_by_python(argument: str) -> int | None:
    """How many arguments an option of python takes up, with its value; 0: the program begins here; None: no such option."""
    if argument == "-" or not argument.startswith("-"):
        return 0
    if argument.startswith("--"):
        return 2 if argument in _LONG_WITH_VALUE else 1 if argument in _LONG else None
    last = next((letter for letter in argument[1:] if letter not in _FLAGS), None)  # options may be combined: -uB
    if last is None:
        return 1
    if last in _PROGRAM:
        return 0
    return None if last not in _WITH_VALUE else 2 if argument.endswith(last) else 1
