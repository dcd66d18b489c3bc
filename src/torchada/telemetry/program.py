"""What a program is called that was run by a command line of python's."""

from __future__ import annotations

import os
from collections.abc import Sequence


def name(words: Sequence[str]) -> str:
    """What was run, without its arguments: the name of a script, a module, or that it was code."""
    rest = iter(words)
    for word in rest:
        if word == "-m":
            return next(rest, word)
        if word == "-c":
            return "code"
        if word in ("-X", "-W"):  # options of python with a value
            next(rest, None)
        elif not word.startswith("-"):
            return os.path.basename(word)
    return "a program"
