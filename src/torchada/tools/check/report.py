"""What a check came to, as data, and as lines for a terminal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

from torchada.report import schemas
from torchada.report.answers import OF_SOURCES
from torchada.report.severity import ERROR, NOTE, OK, SEVERITIES, WARNING
from torchada.report.text import counted
from torchada.tools.check import effort
from torchada.tools.check.apis import table
from torchada.tools.check.findings import RULES, Finding
from torchada.tools.check.session import Result

Document = dict[str, Any]
Group = list[Finding]
MOST_GROUPS = 30
_MOST_PLACES = 3
TITLES = {ERROR: "will not work", WARNING: "to be looked at", NOTE: "good to know", OK: "unchanged"}


def document(result: Result) -> Document:
    """The report as data; its schema is torchada/report/schemas/check.json."""
    kinds = Counter(finding.kind for finding in result.findings if finding.kind)
    severities = Counter(finding.severity for finding in result.findings)
    rules = Counter(finding.rule for finding in result.findings)
    return {
        **schemas.envelope("check"),
        "roots": result.roots,
        "answers": table(result.release).versions,
        "effort": effort.of(result.findings)._asdict(),
        "totals": {
            "accepted": result.accepted,
            "files": dict(sorted(result.files.items())),
            "lines": result.lines,
            "seconds": round(result.seconds, 3),
            "severities": {severity: severities.get(severity, 0) for severity in SEVERITIES},
            "kinds": {kind: kinds.get(kind, 0) for kind in OF_SOURCES},
            "rules": {rule: rules.get(rule, 0) for rule in RULES},
        },
        "views": [
            {"package": view.package, "view": "cuda" if view.sees_cuda else "musa", "why": view.why}
            for view in result.views
        ],
        "findings": [finding._asdict() for finding in result.findings],
    }


def groups(findings: Iterable[Finding]) -> list[Group]:
    """Findings of one name, rule and message together; the most urgent first, then the most frequent."""
    together: dict[tuple[str, str, str], Group] = {}
    for finding in findings:
        # Who asks differs from place to place, and is said there.
        message = finding.message if not finding.view else ""
        together.setdefault((finding.rule, finding.name, message), []).append(finding)
    return sorted(
        together.values(), key=lambda group: (SEVERITIES.index(group[0].severity), -len(group), group[0].name)
    )


def lines(
    result: Result, verbosity: int, painted: Callable[[str, str], str], rows: Callable[..., list[str]]
) -> list[str]:
    """The report for people. -1: what does not work and what is to be looked at; 0: the most frequent of each; 1: every place."""
    shown = SEVERITIES[:2] if verbosity < 0 else SEVERITIES
    out = [_head(result)]
    for severity in shown:
        chosen = groups(finding for finding in result.findings if finding.severity == severity)
        if chosen:
            out += ["", painted(f"{sum(map(len, chosen)):,} {TITLES[severity]}", severity)]
            most = None if verbosity > 0 else MOST_GROUPS if severity != OK else MOST_GROUPS // 3
            out += rows([_row(group, verbosity > 0) for group in chosen[:most]], "  ")
            left = len(chosen[most:]) if most is not None else 0
            out += [f"  and {counted(left, 'more name')}, which -v lists"] if left else []
    return [*out, *_views(result, rows)] if verbosity >= 0 else out


def _head(result: Result) -> str:
    files = sum(result.files.values())
    numbers = f"{counted(files, 'file')}, {counted(result.lines, 'line')} of Python, {counted(len(result.findings), 'finding')}"
    accepted = f", {result.accepted:,} more accepted" if result.accepted else ""
    return f"{', '.join(result.roots)}: {numbers}{accepted}; answers of {table(result.release).versions}"


def statistics(result: Result, rows: Callable[..., list[str]]) -> list[str]:
    """How many findings there are by code, how much work they ask for, and the share that runs unchanged."""
    rules = Counter(finding.rule for finding in result.findings)
    classes, share = effort.of(result.findings)
    by_code = [(f"{number:>6,}", code, RULES[code].looks_for) for code, number in rules.most_common()]
    by_effort = [(f"{number:>6,}", name, effort.MEANINGS[name]) for name, number in classes.items()]
    head = f"{100 * share:.1f} % of {counted(len(result.findings), 'finding')} run unchanged"
    return [_head(result), "", *rows(by_code, ""), "", head, *rows(by_effort, "")] if rules else [_head(result)]


def _row(group: Group, all_places: bool) -> tuple[str, str, str]:
    first = group[0]
    places = [f"{finding.file}:{finding.line}" for finding in group]
    more = len(places) - _MOST_PLACES
    shown = places if all_places or more < 2 else [*places[:_MOST_PLACES], f"{more} more"]
    code = f" [{first.rule}]" if first.severity != OK else ""
    return f"{len(group):>5,}", first.name, f"{message_of(group)}{code}\n{', '.join(shown)}"


def message_of(group: Group) -> str:
    """What is to be said about a group; of questions, how many places get which answer."""
    if not group[0].view:
        return group[0].message
    cuda = sum(finding.view == "cuda" for finding in group)
    answers = [f"CUDA's in {counted(cuda, 'place')}"] if cuda else []
    answers += [f"the backend's in {counted(len(group) - cuda, 'place')}"] if cuda < len(group) else []
    return f"the answer depends on who asks: {', '.join(answers)}"


def _views(result: Result, rows: Callable[..., list[str]]) -> list[str]:
    """Packages that see the backend; all others see CUDA."""
    seen = [(view.package, view.why) for view in result.views if not view.sees_cuda]
    return ["", "these see MUSA, and all others CUDA (docs/explanation/views.md)", *rows(seen, "  ")] if seen else []
