"""What porting a tree came to, as one page of HTML that needs nothing but itself."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from torchada.porting.findings import CHECK, MEANINGS, UNPORTED
from torchada.porting.port import Tree
from torchada.porting.report import TITLES, Group, document, groups_of
from torchada.report import pages
from torchada.report.pages import parts
from torchada.report.severity import ERROR, OK, WARNING
from torchada.report.text import counted, moment

_LOOKS = {UNPORTED: ERROR, CHECK: WARNING}
_FOOTER = (
    "Lines are the original's and the ported file's alike. What is unported stands in the ported source as it stood in the "
    "original: nothing was hidden or switched off. Comments and strings are the original's."
)
_CALM = '<p class="card calm">Everything has a counterpart.</p>'


def as_html(tree: Tree, roots: Sequence[str]) -> str:
    """The report as a page. Everything in it that comes from sources is escaped."""
    report = document(tree, roots)
    where = f"into {report['output']}" if report["output"] else "nothing was written"
    name = ", ".join(Path(root).resolve().name or root for root in roots)
    return pages.page(
        f"{name} for MUSA",
        report,
        eyebrow="A CUDA project, ported to MUSA",
        name=name,
        surroundings=f"{moment(report['created'])}, torchada {report['torchada']}, {where}",
        question="What became of CUDA's names",
        shares=_shares(report["totals"]),
        heading="What needs attention",
        switches={look: TITLES[kind] for kind, look in _LOOKS.items() if report["totals"][kind]},
        rows="".join(_section(groups_of(tree, kind), kind) for kind in TITLES) or _CALM,
        aside_title="Where",
        aside=_files(tree),
        footer=_FOOTER,
    )


def _shares(totals: dict[str, Any]) -> list[parts.Share]:
    sources = f"in {counted(totals['sources'], 'source')}, {totals['bytes'] / 1e6:.1f} MB"
    return [
        parts.Share(OK, totals["replacements"], "translated", sources),
        parts.Share(WARNING, totals[CHECK], TITLES[CHECK], MEANINGS[CHECK]),
        parts.Share(ERROR, totals[UNPORTED], TITLES[UNPORTED], MEANINGS[UNPORTED]),
    ]


def _section(groups: Sequence[Group], kind: str) -> str:
    rows = "".join(_row(group, kind, len(group) / len(groups[0])) for group in groups)
    return parts.group(TITLES[kind].capitalize(), sum(map(len, groups)), rows) if groups else ""


def _row(group: Group, kind: str, share: float) -> str:
    finding = group[0][1]
    places = parts.places([parts.Place(f"{file.path}:{place.line}", "", place.source) for file, place in group])
    return parts.row(_LOOKS[kind], finding.name, finding.reason, TITLES[kind], f"{len(group):,}", places, share)


def _files(tree: Tree) -> str:
    counts = {
        file.path: Counter(_LOOKS[finding.kind] for finding in file.findings) for file in tree.files if file.findings
    }
    return parts.filters(counts, {look: TITLES[kind] for kind, look in _LOOKS.items()}, parts.MOST_FILES)
