"""How much something matters that a tool of ours has found. The order is the order of urgency."""

from __future__ import annotations

from collections.abc import Iterable

ERROR, WARNING, NOTE, OK = "error", "warning", "note", "ok"
SEVERITIES = (ERROR, WARNING, NOTE, OK)
MEANINGS = {
    ERROR: "it does not work, or gives a wrong answer",
    WARNING: "it may go wrong, and somebody should look at it",
    NOTE: "good to know",
    OK: "as it should be",
}


def worst(severities: Iterable[str]) -> str:
    """The most urgent of them; "ok" where there are none."""
    return min(severities, key=SEVERITIES.index, default=OK)


def exit_code(severities: Iterable[str], fails_from: str = ERROR) -> int:
    """What a tool ends with: 1 where something is as urgent as `fails_from` or more, else 0."""
    return int(SEVERITIES.index(worst(severities)) <= SEVERITIES.index(fails_from))
