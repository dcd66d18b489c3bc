"""What porting a tree came to, as data and as text."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from typing import Any

from torchada.porting.findings import CHECK, MEANINGS, UNPORTED, Finding
from torchada.porting.port import File, Tree
from torchada.report import schemas
from torchada.report.text import counted

MOST_NAMES = 20
TITLES = {UNPORTED: "unported", CHECK: "to be looked at"}

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
            **{kind: kinds.get(kind, 0) for kind in TITLES},
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
    for kind in TITLES:
        groups = groups_of(tree, kind)
        if groups:
            lines.append(f"{counted(sum(map(len, groups)), 'place')} {TITLES[kind]}: {MEANINGS[kind]}")
        lines += map(_line, groups[:most])
        left = len(groups[len(groups) if most is None else most :])
        if left:
            lines.append(f"  and {counted(left, 'more name')}, which -v lists")
    return "\n".join(lines)


def _line(group: Group) -> str:
    file, finding = group[0]
    more = f" and {len(group) - 1:,} more" if len(group) > 1 else ""
    return f"  {finding.name}: {file.path}:{finding.line}{more}: {finding.reason}"


def groups_of(tree: Tree, kind: str) -> list[Group]:
    """The findings of a kind, those of one name and reason together, the most frequent first."""
    groups: dict[tuple[str, str], Group] = {}
    for file, finding in tree.findings:
        if finding.kind == kind:
            groups.setdefault((finding.name, finding.reason), []).append((file, finding))
    return sorted(groups.values(), key=len, reverse=True)
