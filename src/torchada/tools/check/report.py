"""What a check came to, as data, and as lines for a terminal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

from torchada.report import schemas
from torchada.report.severity import ERROR, NOTE, OK, SEVERITIES, WARNING
from torchada.report.text import counted
from torchada.tools.check.apis import table
from torchada.tools.check.findings import RULES, Finding
from torchada.tools.check.kinds import MEANINGS
from torchada.tools.check.session import Result

Document = dict[str, Any]
Group = list[Finding]
MOST_GROUPS = 30
_MOST_PLACES = 3
TITLES = {ERROR: "does not work", WARNING: "to be looked at", NOTE: "good to know", OK: "works as it is"}


def document(result: Result) -> Document:
    """The report as data; its schema is torchada/report/schemas/check.json."""
    kinds = Counter(each.kind for each in result.findings if each.kind)
    severities = Counter(each.severity for each in result.findings)
    rules = Counter(each.rule for each in result.findings)
    return {
        **schemas.envelope("check"),
        "roots": result.roots,
        "answers": table().versions,
        "totals": {
            "files": dict(sorted(result.files.items())),
            "lines": result.lines,
            "seconds": round(result.seconds, 3),
            "severities": {each: severities.get(each, 0) for each in SEVERITIES},
            "kinds": {each: kinds.get(each, 0) for each in MEANINGS},
            "rules": {each: rules.get(each, 0) for each in RULES},
        },
        "views": [
            {"package": each.package, "view": "cuda" if each.sees_cuda else "musa", "why": each.why}
            for each in result.views
        ],
        "findings": [each._asdict() for each in result.findings],
    }


def groups(findings: Iterable[Finding]) -> list[Group]:
    """Findings of one name, rule and message together; the most urgent first, then the most frequent."""
    found: dict[tuple[str, str, str], Group] = {}
    for each in findings:
        # Who asks differs from place to place, and is said there.
        message = each.message if not each.view else ""
        found.setdefault((each.rule, each.name, message), []).append(each)
    return sorted(found.values(), key=lambda group: (SEVERITIES.index(group[0].severity), -len(group), group[0].name))


def lines(
    result: Result, verbosity: int, painted: Callable[[str, str], str], rows: Callable[..., list[str]]
) -> list[str]:
    """The report for people. -1: what does not work and what is to be looked at; 0: the most frequent of each; 1: every place."""
    shown = SEVERITIES[:2] if verbosity < 0 else SEVERITIES
    out = [_head(result)]
    for severity in shown:
        found = groups(each for each in result.findings if each.severity == severity)
        if found:
            out += ["", painted(f"{sum(map(len, found)):,} {TITLES[severity]}", severity)]
            most = None if verbosity > 0 else MOST_GROUPS if severity != OK else MOST_GROUPS // 3
            out += rows([_row(group, verbosity > 0) for group in found[:most]], "  ")
            left = len(found[most:]) if most is not None else 0
            out += [f"  and {counted(left, 'more name')}, which -v lists"] if left else []
    return [*out, *_views(result, rows)] if verbosity >= 0 else out


def _head(result: Result) -> str:
    files = sum(result.files.values())
    numbers = f"{counted(files, 'file')}, {counted(result.lines, 'line')} of Python, {counted(len(result.findings), 'finding')}"
    return f"{', '.join(result.roots)}: {numbers}; answers of {table().versions}"


def _row(group: Group, all_places: bool) -> tuple[str, str, str]:
    first = group[0]
    places = [f"{each.file}:{each.line}" for each in group]
    more = len(places) - _MOST_PLACES
    shown = places if all_places or more < 2 else [*places[:_MOST_PLACES], f"{more} more"]
    return f"{len(group):>5,}", first.name, f"{message_of(group)}\n{', '.join(shown)}"


def message_of(group: Group) -> str:
    """What is to be said about a group; of questions, how many places get which answer."""
    if not group[0].view:
        return group[0].message
    cuda = sum(each.view == "cuda" for each in group)
    answers = [f"CUDA's in {counted(cuda, 'place')}"] if cuda else []
    answers += [f"the backend's in {counted(len(group) - cuda, 'place')}"] if cuda < len(group) else []
    return f"the answer depends on who asks: {', '.join(answers)}"


def _views(result: Result, rows: Callable[..., list[str]]) -> list[str]:
    """Packages that see the backend; all others see CUDA."""
    found = [(each.package, each.why) for each in result.views if not each.sees_cuda]
    return ["", "these see MUSA, and all others CUDA (docs/explanation/views.md)", *rows(found, "  ")] if found else []
