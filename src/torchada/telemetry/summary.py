"""The record of one process as text: a line for each new use, and the table at the end."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from torchada.report.answers import OF_CALLS, UNSUPPORTED, title
from torchada.report.text import counted, table
from torchada.telemetry.places import shown
from torchada.telemetry.recorder import Use
from torchada.telemetry.sites import Site

Row = dict[str, Any]
LONGEST = 40


def line(use: Use, site: Site) -> str:
    """The line for a use that comes from a site for the first time."""
    answer = f" -> {use.to}" if use.to else ""
    return f"torchada: {_name(use.kind)}: {use.api}{answer}, {_place(asdict(site), os.getcwd())}\n"


def text(process: Mapping[str, Any], uses: Sequence[Mapping[str, Any]]) -> str:
    """The table: unsupported APIs first, then by the number of calls; the last line contains the totals."""
    rows = rows_of(uses, str(process["folder"]))
    cells = [("calls", "", "API of CUDA", "answered by", "called from")]
    cells += [(f"{row['count']:,}", _name(row["kind"]), row["api"], row["to"] or "-", row["from"]) for row in rows]
    left = len(cells) - 1 - LONGEST
    lines = table(cells[: LONGEST + 1], "  ", numbers=True)
    if left > 0:
        lines.append(f"  ... and {counted(left, 'more API')}; `torchada run --report` shows all")
    device = f"{process['backend']}{' (simulated)' if process['simulated'] else ''}"
    head = f"torchada: CUDA as used by process {process['pid']}, on {device}"
    return "\n".join([head, *lines, f"  {_totals(uses)}", *_on_the_cpu(process["cpu_fallbacks"]), ""])


def _on_the_cpu(operators: Mapping[str, int]) -> list[str]:
    """The operators that were computed on the CPU in the device's place, the most frequent first."""
    if not operators:
        return []
    often = sorted(operators.items(), key=lambda entry: (-entry[1], entry[0]))
    return [
        "  computed on the CPU, with copies there and back: " + ", ".join(f"{name} {count:,}" for name, count in often)
    ]


def rows_of(uses: Sequence[Mapping[str, Any]], folder: str) -> list[Row]:
    """One row for each API and kind: count, what answered it, and the site that called it most, with the number of others."""
    groups: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    for use in uses:
        groups.setdefault((use["api"], use["kind"]), []).append(use)
    rows = []
    for (api, kind), group in groups.items():
        first = max(group, key=lambda use: int(use["count"]))
        more = f", {len(group) - 1} more" if len(group) > 1 else ""
        count = sum(use["count"] for use in group)
        rows.append({"api": api, "kind": kind, "to": first["to"], "count": count, "from": _place(first, folder) + more})
    return sorted(rows, key=lambda row: (row["kind"] != UNSUPPORTED, -row["count"], row["api"]))


def _totals(uses: Sequence[Mapping[str, Any]]) -> str:
    counts = {kind: sum(use["count"] for use in uses if use["kind"] == kind) for kind in OF_CALLS}
    total = sum(counts.values())
    parts = ", ".join(f"{count:,} {_name(kind)}" for kind, count in counts.items() if count)
    return f"{counted(total, 'call')}: {parts}"


def _name(kind: str) -> str:
    return "UNSUPPORTED" if kind == UNSUPPORTED else title(kind)


def _place(use: Mapping[str, Any], folder: str) -> str:
    through = f" ({use['through'].rpartition('.<module>')[0] or use['through']})" if use["through"] else ""
    return f"{shown(use['file'], use['package'], folder)}:{use['line']}{through}"
