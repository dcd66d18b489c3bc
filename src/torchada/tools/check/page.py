"""The findings as one page of HTML that needs nothing but itself."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence
from html import escape
from pathlib import Path

from torchada.report import pages
from torchada.report.pages import parts
from torchada.report.severity import MEANINGS, SEVERITIES
from torchada.report.text import counted
from torchada.tools.check.findings import RULES, Finding
from torchada.tools.check.report import TITLES, Group, document, groups, message_of
from torchada.tools.check.session import Result

_FOOTER = (
    "Sources were read, and nothing was run: what a program builds from strings or by getattr, and what it gets from packages "
    "outside of the project, is not seen. The answers are those of torchada's own table of CUDA's APIs, for the versions above."
)


def as_html(result: Result) -> str:
    """The report as a page. Everything in it that comes from sources is escaped."""
    found = document(result)
    name = ", ".join(Path(root).resolve().name or root for root in result.roots)
    when = time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime(found["created"]))
    files = counted(sum(result.files.values()), "file")
    lines = counted(result.lines, "line")
    return pages.tool_page(
        f"CUDA in {name}",
        found,
        eyebrow="CUDA in a project's sources, and what becomes of it on MUSA",
        name=escape(name),
        surroundings=escape(
            f"{when}, torchada {found['torchada']}: {files}, {lines} of Python; answers of {found['answers']}"
        ),
        question="What there is",
        shares=parts.shares([_share(each, found["totals"]["severities"][each]) for each in SEVERITIES]),
        heading="Findings",
        switches="".join(
            parts.switch(each, TITLES[each]) for each in SEVERITIES if found["totals"]["severities"][each]
        ),
        rows="".join(_of_severity(result.findings, each) for each in SEVERITIES)
        or '<p class="card calm">Nothing here names CUDA.</p>',
        aside_title="Where",
        aside=_files(result.findings) + _views(result),
        footer=_FOOTER,
    )


def _share(severity: str, number: int) -> parts.Share:
    return parts.Share(severity, number, TITLES[severity], MEANINGS[severity])


def _of_severity(findings: Sequence[Finding], severity: str) -> str:
    found = groups(each for each in findings if each.severity == severity)
    if not found:
        return ""
    most = max(map(len, found))
    rows = "".join(_row(group, len(group) / most) for group in found)
    return parts.group(TITLES[severity].capitalize(), sum(map(len, found)), rows)


def _row(group: Group, share: float) -> str:
    first = group[0]
    mark = first.kind or first.rule.replace("-", " ")
    places = [parts.Place(f"{each.file}:{each.line}", _remark(each), each.source) for each in group]
    advice = f'<p class="soft">{escape(RULES[first.rule].advice)}</p>'
    return parts.row(
        first.severity, first.name, message_of(group), mark, f"{len(group):,}", advice + parts.places(places), share
    )


def _remark(found: Finding) -> str:
    return found.message if found.view else ""


def _files(findings: Sequence[Finding]) -> str:
    """The files with the most findings, each a button that filters by it; what is fine does not count."""
    numbers: dict[str, Counter[str]] = {}
    for each in findings:
        if each.severity != SEVERITIES[-1]:
            numbers.setdefault(each.file, Counter())[each.severity] += 1
    order = sorted(numbers, key=lambda file: -numbers[file].total())[:40]
    most = max((numbers[file].total() for file in order), default=1)
    return (
        "".join(
            parts.filtering(
                file.rpartition("/")[2],
                numbers[file].total(),
                file,
                [(each, numbers[file][each] / most) for each in SEVERITIES if numbers[file][each]],
            )
            for file in order
        )
        or '<p class="soft">Nowhere.</p>'
    )


def _views(result: Result) -> str:
    """The packages that see MUSA."""
    rows = [(each.package, each.why) for each in result.views if not each.sees_cuda]
    return f"<h2>Who sees MUSA</h2>{parts.table(('package', 'why'), rows)}" if rows else ""
