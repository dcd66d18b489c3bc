"""Whether a program's results are right: by what it says itself, or by the numbers of another version."""

from __future__ import annotations

import math
import re
from itertools import zip_longest

from outside.programs.table import Check

_NUMBER = re.compile(r"(?<![\w.])[-+]?(?:\d+\.?\d*(?:[eE][-+]?\d+)?|\.\d+|nan|inf)(?![\w.])")


def by_message(check: Check, output: str) -> str | None:
    """Why its own words say that it is wrong, "" if they say that it is right, None if they say nothing."""
    wrong = next((line.strip() for line in output.splitlines() if re.search(check.wrong, line)), None)
    if wrong is not None:
        return wrong[:200]
    return "" if re.search(check.right, output) else None


def by_numbers(check: Check, result: str, reference: str) -> str:
    """The first number that differs from the reference's, or ""."""
    ours, theirs = (numbers(text, check.lines) for text in (result, reference))
    if not theirs:
        return "the reference gives no numbers"
    for at, (one, other) in enumerate(zip_longest(ours, theirs)):
        if one is None or other is None:
            return f"{len(ours)} numbers, and {len(theirs)} of the reference"
        if not _close(one, other, check.tolerance):
            return f"number {at} of {len(theirs)} is {one:g}, and {other:g} in the reference"
    return "" if any(map(math.isfinite, theirs)) else "no number of the reference is finite"


def numbers(text: str, lines: str = "") -> list[float]:
    """The numbers of the lines that match `lines`: of its group, or of what follows the match."""
    matches = ((re.search(lines, line), line) for line in text.splitlines())
    parts = (match[1] if match.lastindex else line[match.end() :] for match, line in matches if match)
    return [float(number) for part in parts for number in _NUMBER.findall(part)]


def _close(one: float, other: float, tolerance: float) -> bool:
    same = one == other or (math.isnan(one) and math.isnan(other))
    return same or math.isclose(one, other, rel_tol=tolerance, abs_tol=tolerance)
