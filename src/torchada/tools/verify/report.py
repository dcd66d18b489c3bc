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
    result = {**_FOUND, **answer}
    if result["seconds"] is not None:
        result["seconds"] = round(result["seconds"], 4)
    if result["error"] is not None:
        result["error"] = float(f"{result['error']:.3g}")
    return {**{name: task[name] for name in _DESCRIBED}, **result}


def document(
    greeting: Document,
    level: str,
    only: Sequence[str],
    rows: Sequence[Document],
    seconds: float,
    interrupted: str = "",
) -> Document:
    """The report. `greeting` is what the process of the checks says of itself."""
    counts = Counter(check["outcome"] for check in rows)
    surroundings = {name: value for name, value in greeting.items() if name != "tasks"}
    return {
        **schemas.envelope("verify"),
        **surroundings,
        "level": level,
        "only": list(only),
        "seconds": round(seconds, 1),
        "interrupted": interrupted,
        "ok": not greeting["problem"] and not interrupted and not FAULTS & counts.keys(),
        "totals": {outcome: counts[outcome] for outcome in SEVERITIES},
        "checks": list(rows),
    }


def exit_code(document: Document) -> int:
    """0: no check failed; 1: some did; 2: nothing could be checked."""
    if document["problem"]:
        return 2
    return 0 if document["ok"] else 1


def faults(document: Document) -> list[Document]:
    """The checks that failed, in order."""
    return [check for check in document["checks"] if check["outcome"] in FAULTS]


def by_group(document: Document) -> dict[str, list[Document]]:
    """The checks of each group."""
    groups: dict[str, list[Document]] = {}
    for check in document["checks"]:
        groups.setdefault(check["group"], []).append(check)
    return groups


def by_subject(rows: Sequence[Document]) -> dict[str, list[Document]]:
    """The checks of each subject: one for each data type, or one alone."""
    subjects: dict[str, list[Document]] = {}
    for check in rows:
        subjects.setdefault(check["subject"], []).append(check)
    return subjects


def worst_share(rows: Sequence[Document]) -> float | None:
    """The largest error of these checks, as a share of what is allowed."""
    return max((check["error"] for check in rows if check["error"] is not None), default=None)
