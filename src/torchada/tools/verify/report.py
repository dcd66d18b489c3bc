"""What a run has found, as data (schema `torchada-verify`)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from torchada.report import schemas
from torchada.tools.verify.outcomes import FAULTS, SEVERITIES

Document = dict[str, Any]
_DESCRIBED = ("name", "group", "subject", "dtype", "level", "tolerance")
_FOUND: Document = {"outcome": "", "detail": "", "seconds": None, "error": None, "log": ""}


def row(task: Document, answer: Document) -> Document:
    """One check and what came of it."""
    found = {**_FOUND, **answer}
    if found["seconds"] is not None:
        found["seconds"] = round(found["seconds"], 4)
    if found["error"] is not None:
        found["error"] = float(f"{found['error']:.3g}")
    return {**{name: task[name] for name in _DESCRIBED}, **found}


def document(greeting: Document, level: str, only: Sequence[str], rows: Sequence[Document], seconds: float) -> Document:
    """The report. `greeting` is what the process of the checks says of itself."""
    counts = Counter(each["outcome"] for each in rows)
    surroundings = {name: value for name, value in greeting.items() if name != "tasks"}
    return {
        **schemas.envelope("verify"),
        **surroundings,
        "level": level,
        "only": list(only),
        "seconds": round(seconds, 1),
        "ok": not greeting["problem"] and not FAULTS & counts.keys(),
        "totals": {outcome: counts[outcome] for outcome in SEVERITIES},
        "checks": list(rows),
    }


def exit_code(found: Document) -> int:
    """0: no check failed; 1: some did; 2: nothing could be checked."""
    if found["problem"]:
        return 2
    return 0 if found["ok"] else 1


def faults(found: Document) -> list[Document]:
    """The checks that failed, in order."""
    return [each for each in found["checks"] if each["outcome"] in FAULTS]


def by_group(found: Document) -> dict[str, list[Document]]:
    """The checks of each group."""
    groups: dict[str, list[Document]] = {}
    for each in found["checks"]:
        groups.setdefault(each["group"], []).append(each)
    return groups


def by_subject(rows: Sequence[Document]) -> dict[str, list[Document]]:
    """The checks of each subject: one for each data type, or one alone."""
    subjects: dict[str, list[Document]] = {}
    for each in rows:
        subjects.setdefault(each["subject"], []).append(each)
    return subjects


def worst_share(rows: Sequence[Document]) -> float | None:
    """The largest error of these checks, as a share of what is allowed."""
    return max((each["error"] for each in rows if each["error"] is not None), default=None)
