"""What porting a tree came to, as JSON and as one page of HTML that needs nothing but itself."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from html import escape
from pathlib import Path
from typing import Any

from torchada.porting.findings import CHECK, MEANINGS, UNPORTED, Finding
from torchada.porting.port import File, Tree
from torchada.report import pages, schemas
from torchada.report.text import counted

MOST_NAMES = 20
_MOST_PLACES = 200
_KINDS = (UNPORTED, CHECK)
_TITLES = {UNPORTED: "unported", CHECK: "to be looked at"}

Group = list[tuple[File, Finding]]


def document(tree: Tree, roots: Sequence[str]) -> dict[str, Any]:
    """The report as data; its schema is torchada/report/schemas/port.json."""
    sources = [file for file in tree.files if file.is_source]
    kinds = Counter(finding.kind for _, finding in tree.findings)
    return {
        **schemas.envelope("port"),
        "roots": list(roots),
        "output": None if tree.output is None else str(tree.output),
        "totals": {
            "sources": len(sources),
            "files": len(tree.files),
            "bytes": tree.size,
            "replacements": sum(file.replacements for file in sources),
            **{kind: kinds.get(kind, 0) for kind in _KINDS},
        },
        "files": [
            {
                "path": file.path,
                "target": file.target,
                "replacements": file.replacements,
                "findings": len(file.findings),
            }
            for file in sources
            if file.replacements or file.findings
        ],
        "findings": [{"file": file.path, **finding._asdict()} for file, finding in tree.findings],
    }


def as_json(tree: Tree, roots: Sequence[str]) -> str:
    """The report as JSON."""
    return json.dumps(document(tree, roots), indent=1) + "\n"


def as_text(tree: Tree, most: int | None = MOST_NAMES) -> str:
    """Lines for a terminal, the most frequent findings first, with up to `most` names of each kind."""
    sources = [file for file in tree.files if file.is_source]
    names = sum(file.replacements for file in sources)
    lines = [f"{counted(len(sources), 'source')}, {counted(names, 'name')} translated"]
    for kind in _KINDS:
        groups = _groups(tree, kind)
        if groups:
            lines.append(f"{counted(sum(map(len, groups)), 'place')} {_TITLES[kind]}: {MEANINGS[kind]}")
        lines += map(_line, groups[:most])
        left = len(groups[len(groups) if most is None else most :])
        if left:
            lines.append(f"  and {counted(left, 'more name')}, which -v lists")
    return "\n".join(lines)


def _line(group: Group) -> str:
    file, finding = group[0]
    more = f" and {len(group) - 1:,} more" if len(group) > 1 else ""
    return f"  {finding.name}: {file.path}:{finding.line}{more}: {finding.reason}"


def as_html(tree: Tree, roots: Sequence[str]) -> str:
    """The report as a page. Everything in it that comes from sources is escaped."""
    found = document(tree, roots)
    where = f"into {found['output']}" if found["output"] else "nothing was written"
    when = time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime(found["created"]))
    name = ", ".join(Path(root).resolve().name or root for root in roots)
    return pages.page(
        Path(__file__).parent,
        f"{name} for MUSA",
        found,
        name=escape(name),
        surroundings=escape(f"{when}, torchada {found['torchada']}, {where}"),
        shares=_shares(found["totals"]),
        legend=_legend(found["totals"]),
        findings="".join(_section(tree, kind) for kind in _KINDS)
        or '<p class="card calm">Everything has a counterpart.</p>',
        files=_files(tree),
    )


def _groups(tree: Tree, kind: str) -> list[Group]:
    groups: dict[tuple[str, str], Group] = {}
    for file, finding in tree.findings:
        if finding.kind == kind:
            groups.setdefault((finding.name, finding.reason), []).append((file, finding))
    return sorted(groups.values(), key=len, reverse=True)


def _shares(totals: dict[str, int]) -> str:
    parts = (("same", totals["replacements"]), (CHECK, totals[CHECK]), (UNPORTED, totals[UNPORTED]))
    return "".join(
        f'<i class="{kind}" style="flex-grow:{count}" title="{count:,}"></i>' for kind, count in parts if count
    )


def _legend(totals: dict[str, int]) -> str:
    rows = (
        (
            "same",
            totals["replacements"],
            "translated",
            f"in {counted(totals['sources'], 'source')}, {totals['bytes'] / 1e6:.1f} MB",
        ),
        (CHECK, totals[CHECK], _TITLES[CHECK], MEANINGS[CHECK]),
        (UNPORTED, totals[UNPORTED], _TITLES[UNPORTED], MEANINGS[UNPORTED]),
    )
    return "".join(
        f'<div class="{kind}{"" if count else " none"}"><b>{count:,}</b><span>{title}</span><small>{escape(meaning)}</small></div>'
        for kind, count, title, meaning in rows
    )


def _section(tree: Tree, kind: str) -> str:
    groups = _groups(tree, kind)
    if not groups:
        return ""
    most = len(groups[0])
    rows = "".join(_row(group, kind, most) for group in groups)
    head = f"<span>{_TITLES[kind].capitalize()}</span><span>{sum(map(len, groups)):,}</span>"
    return f'<div class="group"><h3>{head}</h3>{rows}</div>'


def _row(group: Group, kind: str, most: int) -> str:
    finding = group[0][1]
    name = f"<span><code>{escape(finding.name)}</code><small>{escape(finding.reason)}</small></span>"
    bar = f'<span class="bar"><i style="width:{100 * len(group) / most:.2f}%"></i></span>'
    row = f'<summary>{name}{bar}<span class="number">{len(group):,}</span></summary>'
    left = len(group) - _MOST_PLACES
    more = f'<p class="soft">and {counted(left, "more place")}, which the JSON has</p>' if left > 0 else ""
    return f'<details class="api {kind}">{row}<div class="sites">{_places(group[:_MOST_PLACES])}{more}</div></details>'


def _places(group: Iterable[tuple[File, Finding]]) -> str:
    return "".join(
        f'<div class="site"><p><code>{escape(file.path)}:{finding.line}</code></p>'
        f'<code class="source">{escape(finding.source)}</code></div>'
        for file, finding in group
    )


def _files(tree: Tree) -> str:
    files = sorted((file for file in tree.files if file.findings), key=lambda file: -len(file.findings))
    most = max((len(file.findings) for file in files), default=1)
    return "".join(_file(file, most) for file in files[:40]) or '<p class="soft">None.</p>'


def _file(file: File, most: int) -> str:
    kinds = Counter(finding.kind for finding in file.findings)
    parts = "".join(
        f'<i class="{kind}" style="width:{100 * kinds[kind] / most:.2f}%"></i>' for kind in _KINDS if kinds[kind]
    )
    head = (
        f'<span><b>{escape(file.path.rpartition("/")[2])}</b><span class="number">{len(file.findings):,}</span></span>'
    )
    query = escape(file.path, quote=True)
    return f'<button class="who" data-query="{query}" title="{query}">{head}<div class="bar">{parts}</div></button>'
