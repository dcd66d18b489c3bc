"""TOML that strangers wrote: whatever is wrong with it is a ValueError, and reading it takes time in proportion to its size."""

from __future__ import annotations

import sys
from typing import Any

# Python's parser takes time that grows with the square of a key's or a number's length, which both end with their line.
LONGEST_LINE = 10_000


def parse(text: str) -> dict[str, Any]:
    """The document; ImportError where there is no parser, which Python before 3.11 has from a package."""
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    for number, line in enumerate(text.split("\n"), 1):
        if len(line) > LONGEST_LINE:
            raise ValueError(f"line {number} has more than {LONGEST_LINE:,} characters")
    try:
        return dict(tomllib.loads(text))
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
