"""The report as one self-contained page of HTML. All text that comes from programs is escaped.

The page also contains its data as JSON, so that the next process can add to it.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from datetime import datetime, timezone
from html import escape
from pathlib import Path
from typing import Any

from torchada.report import pages
from torchada.report.answers import KINDS, MEANINGS, NAMES
from torchada.report.text import counted
from torchada.telemetry.places import shown

Document = dict[str, Any]
Use = dict[str, Any]
_ATTENTION = ("unsupported", "emulated")
_MOST_SITES = 200


def page(document: Document) -> str:
    """The page for a report (see `report` for its schema)."""
    uses, program = document["uses"], " ".join(document["program"]) or "a program"
    folder = document["folder"]
    return pages.page(
        Path(__file__).parent,
        f"CUDA in {program}",
        document,
        program=escape(program),
        surroundings=escape(_surroundings(document)),
        tiles=_tiles(document),
        shares=_shares(document["totals"]),
        attention=_attention(uses, folder),
        switches="".join(map(_switch, _kinds_of(uses))),
        apis=_apis(uses, folder) or '<p class="soft">Nothing was recorded.</p>',
        packages=_packages(uses),
        processes=_processes(document["processes"]),
    )


def _surroundings(document: Document) -> str:
    when = datetime.fromtimestamp(document["created"], timezone.utc).strftime("%Y-%m-%d %H:%M UTC")
    if not document["processes"]:
        return f"{when}. No process has used CUDA so far."
    first = document["processes"][0]
    device = f"on {first['backend']}{', simulated' if first['simulated'] else ''}"
    versions = f"torch {first['torch']}, {first['adapter']}, torchada {first['torchada']}, Python {first['python']}"
    return f"{when}, {device}: {versions}"


def _tiles(document: Document) -> str:
    totals = document["totals"]
    numbers = [
        (totals["calls"], "call"),
        (totals["apis"], "API"),
        (totals["sites"], "line"),
        (totals["packages"], "package"),
    ]
    return "".join(
        f"<span>{_counted(*number)}</span>" for number in (*numbers, (len(document["processes"]), "process"))
    )


def _counted(number: int, noun: str) -> str:
    plural = "es" if noun.endswith("s") else "s"
    return f"<b>{number:,}</b> {noun}{plural if number != 1 else ''}"


def _shares(totals: Document) -> str:
    kinds = [(kind, totals["kinds"].get(kind, 0)) for kind in KINDS]
    bar = "".join(
        f'<i class="{kind}" style="flex-grow:{count}" title="{NAMES[kind]}: {count:,}"></i>'
        for kind, count in kinds
        if count
    )
    legend = "".join(_legend(kind, count, totals["calls"]) for kind, count in kinds)
    return f'<div class="shares">{bar}</div><div class="legend">{legend}</div>'


def _legend(kind: str, count: int, total: int) -> str:
    share = f"{100 * count / total:.1f} %" if total else "-"
    look = kind if count else f"{kind} none"
    return (
        f'<div class="{look}"><b>{count:,}</b><span>{NAMES[kind]}, {share}</span><small>{MEANINGS[kind]}</small></div>'
    )


def _attention(uses: Sequence[Use], folder: str) -> str:
    groups = [group for group in _by_api(uses) if group[0]["kind"] in _ATTENTION]
    if not groups:
        return '<p class="card calm">Nothing that was called is unsupported, and nothing had to be emulated.</p>'
    return "".join(_alarm(group, folder) for group in sorted(groups, key=lambda group: KINDS.index(group[0]["kind"])))


def _alarm(group: Sequence[Use], folder: str) -> str:
    first = group[0]
    answer = f'<span class="soft">answered by {escape(first["to"])}</span>' if first["to"] else ""
    head = f"<code>{escape(first['api'])}</code>{_chip(first['kind'])}<span>{_counted(_calls(group), 'call')}</span>{answer}"
    return f'<section class="card alarm {_class(first)}"><header>{head}</header>{_sites(group, folder)}</section>'


def _apis(uses: Sequence[Use], folder: str) -> str:
    """All APIs, grouped by the module or class that they belong to."""
    groups: dict[str, list[list[Use]]] = {}
    for group in _by_api(uses):
        groups.setdefault(_owner(group[0]["api"]), []).append(group)
    most = max(map(_calls, _by_api(uses)), default=1)
    parts = []
    for owner, members in sorted(groups.items(), key=lambda item: -sum(map(_calls, item[1]))):
        rows = "".join(_api(group, most, folder) for group in members)
        total = sum(map(_calls, members))
        parts.append(f'<div class="group"><h3><span>{escape(owner)}</span><span>{total:,}</span></h3>{rows}</div>')
    return "".join(parts)


def _api(group: Sequence[Use], most: int, folder: str) -> str:
    first, count = group[0], _calls(group)
    answer = f"→ {escape(first['to'])}" if first["to"] else "no counterpart"
    name = f"<span><code>{escape(first['api'])}</code><small>{answer}</small></span>"
    bar = f'<span class="bar"><i style="width:{100 * count / most:.2f}%"></i></span>'
    row = f'<summary>{name}{_chip(first["kind"])}{bar}<span class="number">{count:,}</span></summary>'
    sites = f'<div class="sites">{_sites(group, folder)}</div>'
    return f'<details class="api {_class(first)}" data-kind="{_class(first)}">{row}{sites}</details>'


def _sites(group: Sequence[Use], folder: str) -> str:
    left = len(group) - _MOST_SITES
    more = f'<p class="soft">and {counted(left, "more line")}, listed in the JSON report</p>' if left > 0 else ""
    return "".join(_site(use, folder) for use in group[:_MOST_SITES]) + more


def _site(use: Use, folder: str) -> str:
    place = f"{shown(use['file'], use['package'], folder)}:{use['line']}"
    where = f'<code title="{escape(use["file"])}">{escape(place)}</code>'
    through = f", through <code>{escape(use['through'])}</code>" if use["through"] else ""
    source = f'<code class="source">{escape(use["source"])}</code>' if use["source"] else ""
    words = f'<p>{where} <span class="soft">in {escape(use["function"])}, {escape(_whose(use["package"]))}{through}</span></p>'
    return f'<div class="site"><span class="number">{use["count"]:,}</span><div>{words}{source}</div></div>'


def _packages(uses: Sequence[Use]) -> str:
    groups = _grouped(uses, lambda use: use["package"])
    most = max(map(_calls, groups), default=1)
    return "".join(_package(group, most) for group in groups)


def _package(group: Sequence[Use], most: int) -> str:
    package = group[0]["package"]
    kinds = [(kind, _calls(use for use in group if use["kind"] == kind)) for kind in KINDS]
    parts = "".join(
        f'<i class="{kind}" style="width:{100 * n / most:.2f}%" title="{NAMES[kind]}: {n:,}"></i>'
        for kind, n in kinds
        if n
    )
    head = f'<span><b>{escape(_whose(package))}</b><span class="number">{_calls(group):,}</span></span>'
    query = escape(_whose(package))
    return f'<button class="who" data-query="{query}">{head}<div class="bar">{parts}</div></button>'


def _processes(processes: Sequence[Document]) -> str:
    rows = "".join(
        f"<tr><td>{process['pid']}</td><td>{process['parent']}</td><td>{escape(process['host'])}</td>"
        f"<td>{process['ended'] - process['started']:.1f} s</td><td><code>{escape(' '.join(process['command']))}</code></td></tr>"
        for process in processes
    )
    head = "<tr><th>process</th><th>parent</th><th>host</th><th>recorded for</th><th>command</th></tr>"
    return f'<div class="scroll"><table>{head}{rows}</table></div>' if rows else '<p class="soft">None.</p>'


def _switch(kind: str) -> str:
    return f'<button class="{kind}" data-switch="{kind}" aria-pressed="true">{_chip(kind)}</button>'


def _chip(kind: str) -> str:
    return f'<span class="chip">{escape(NAMES.get(kind, kind))}</span>'


def _class(use: Use) -> str:
    return use["kind"] if use["kind"] in KINDS else "untouched"


def _whose(package: str) -> str:
    return "the script" if package == "__main__" else package


def _owner(api: str) -> str:
    path = api.partition("(")[0]
    return path.rpartition(".")[0] or "elsewhere" if " " not in path else "elsewhere"


def _kinds_of(uses: Sequence[Use]) -> list[str]:
    return [kind for kind in KINDS if any(use["kind"] == kind for use in uses)]


def _by_api(uses: Sequence[Use]) -> list[list[Use]]:
    return _grouped(uses, lambda use: (use["api"], use["kind"]))


def _grouped(uses: Sequence[Use], key: Callable[[Use], Hashable]) -> list[list[Use]]:
    """Groups, those with the most calls first; within a group the uses keep that order, which a report has."""
    groups: dict[Hashable, list[Use]] = {}
    for use in uses:
        groups.setdefault(key(use), []).append(use)
    return sorted(groups.values(), key=_calls, reverse=True)


def _calls(uses: Iterable[Use]) -> int:
    return sum(use["count"] for use in uses)
