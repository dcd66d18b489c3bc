"""The findings as one page of HTML that needs nothing but itself."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from html import escape
from pathlib import Path

from torchada.report import pages
from torchada.report.pages import parts
from torchada.report.severity import MEANINGS, NOTE, OK, SEVERITIES
from torchada.report.text import counted, moment
from torchada.tools.check.findings import RULES, Finding
from torchada.tools.check.report import TITLES, Group, document, groups, message_of
from torchada.tools.check.session import Result

_FOOTER = (
    "Sources were read, and nothing was run: what a program builds from strings or by getattr, and what it gets from packages "
    "outside of the project, is not seen. The answers are those of torchada's own table of CUDA's APIs, for the versions above."
)
_MEANINGS = {**MEANINGS, NOTE: "it is answered, and worth a look"}
_CALM = '<p class="card calm">Nothing here names CUDA.</p>'


def as_html(result: Result) -> str:
    """The report as a page. Everything in it that comes from sources is escaped."""
    report = document(result)
    totals = report["totals"]["severities"]
    name = ", ".join(Path(root).resolve().name or root for root in result.roots)
    read = f"{counted(sum(result.files.values()), 'file')}, {counted(result.lines, 'line')} of Python"
    return pages.page(
        f"CUDA in {name}",
        report,
        eyebrow="CUDA in a project's sources, and what becomes of it on MUSA",
        name=name,
        surroundings=f"{moment(report['created'])}, torchada {report['torchada']}: {read}; answers of {report['answers']}",
        question="What there is",
        shares=[parts.Share(look, totals[look], TITLES[look], _MEANINGS[look]) for look in SEVERITIES],
        heading="Findings",
        switches={look: TITLES[look] for look in SEVERITIES if totals[look]},
        rows="".join(_of_severity(result.findings, severity) for severity in SEVERITIES) or _CALM,
        aside_title="Where",
        aside=_files(result.findings) + _views(result),
        footer=_FOOTER,
    )


def _of_severity(findings: Sequence[Finding], severity: str) -> str:
    chosen = groups(finding for finding in findings if finding.severity == severity)
    if not chosen:
        return ""
    most = max(map(len, chosen))
    rows = "".join(_row(group, len(group) / most) for group in chosen)
    return parts.group(TITLES[severity].capitalize(), sum(map(len, chosen)), rows)


def _row(group: Group, share: float) -> str:
    first = group[0]
    mark = first.kind or first.rule.replace("-", " ")
    places = parts.places([_place(finding) for finding in group])
    advice = f'<p class="soft">{escape(RULES[first.rule].advice)}</p>'
    return parts.row(first.severity, first.name, message_of(group), mark, f"{len(group):,}", advice + places, share)


def _place(finding: Finding) -> parts.Place:
    remark = finding.message if finding.view else ""
    return parts.Place(f"{finding.file}:{finding.line}", remark, finding.source)


def _files(findings: Sequence[Finding]) -> str:
    """The files with the most findings; what is fine does not count."""
    counts: dict[str, Counter[str]] = {}
    for finding in findings:
        if finding.severity != OK:
            counts.setdefault(finding.file, Counter())[finding.severity] += 1
    return parts.filters(counts, TITLES, parts.MOST_FILES)


def _views(result: Result) -> str:
    """The packages that see MUSA."""
    rows = [(view.package, view.why) for view in result.views if not view.sees_cuda]
    return f"<h2>Who sees MUSA</h2>{parts.table(('package', 'why'), rows)}" if rows else ""
