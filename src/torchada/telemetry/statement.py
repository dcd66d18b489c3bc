"""The fidelity statement of a run, for a pull request: how each operator was computed, and what that shows. It is Markdown.

It names no machine, user, folder, argument or line of source. A comment at its end has the counts as data, so that the next process
can add to them.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from torchada.report import fidelity
from torchada.report.answers import UNSUPPORTED
from torchada.report.text import counted
from torchada.telemetry import computed, program

Document = dict[str, Any]
WAYS = {
    computed.ON_DEVICE: "operators on the device",
    computed.MENDED: "operators mended: a kernel of torchada's in the place of one that is missing or wrong",
    computed.ON_THE_CPU: "operators on the CPU, with copies there and back",
    computed.KERNELS: "kernels of the program",
}
_FEW = 5
_DATA = re.compile(r"^<!-- torchada-run (.*) -->$", re.MULTILINE)


def markdown(document: Document, published: Document) -> str:
    """The statement of a report; `published` is what of it the comment has."""
    processes = document["processes"]
    lines = [f"### How `{_plain(program.name(document['program']))}` was computed", "", _surroundings(document), ""]
    if processes:
        lines += [*_table(("", "different", "runs", "most often"), map(_marked, rows(processes))), ""]
        simulated = any(process["simulated"] for process in processes)
        lines += [*_table(("", "what this run shows"), fidelity.meaning(simulated)), ""]
        lines += [*_refused(document["uses"]), *_everything(processes)]
    data = json.dumps(published).replace("-", "\\u002d").replace(">", "\\u003e")
    return "\n".join([*lines, f"<!-- torchada-run {data} -->", ""])


def data_of(text: str) -> str:
    """The data in a statement, as JSON."""
    match = _DATA.search(text)
    return match[1] if match else ""


def _surroundings(document: Document) -> str:
    if document["inactive"]:
        return f"torchada was inactive, so nothing could be recorded: {_plain(document['inactive'])}."
    if not document["processes"]:
        return "No process has recorded a use of CUDA."
    first, totals = document["processes"][0], document["totals"]
    device = f"{first['adapter']}{', simulated' if first['simulated'] else ''}"
    versions = f"torch {first['torch']}, {device}, torchada {first['torchada']}, Python {first['python']}"
    refused = totals["kinds"].get(UNSUPPORTED, 0)
    calls = f"{counted(totals['calls'], 'call')} of {counted(totals['apis'], 'API')} of CUDA, {refused:,} refused"
    return f"{_plain(versions)}; {counted(len(document['processes']), 'process')}; {calls}."


def rows(processes: list[Mapping[str, object]]) -> Iterator[tuple[str, ...]]:
    """For each way: its name, how many different operators or kernels, how many runs, and those that were run most often."""
    for name, title in WAYS.items():
        counts = computed.total(processes, name)
        if counts is None:
            yield title, "-", "-", "not counted on hardware"
        else:
            most = ", ".join(f"{of} {number:,}" for of, number in counts.most_common(_FEW))
            yield title, f"{len(counts):,}", f"{counts.total():,}", most


def _marked(row: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(map(_plain, row))


def _refused(uses: Sequence[Mapping[str, Any]]) -> list[str]:
    """The APIs that were refused with an error."""
    names = sorted({use["api"] for use in uses if use["kind"] == UNSUPPORTED})
    return [f"Refused with an error: {', '.join(f'`{_plain(name)}`' for name in names)}.", ""] if names else []


def _everything(processes: list[Mapping[str, object]]) -> list[str]:
    rows = [
        (title.partition(":")[0], f"`{_plain(of)}`", f"{number:,}")
        for name, title in WAYS.items()
        for of, number in (computed.total(processes, name) or Counter[str]()).most_common()
    ]
    head = ("<details><summary>Every operator and kernel</summary>", "")
    return [*head, *_table(("", "name", "runs"), rows), "", "</details>", ""] if rows else []


def _table(head: Sequence[str], rows: Any) -> list[str]:
    return [f"| {' | '.join(row)} |" for row in (head, ["---"] * len(head), *rows)]


def _plain(text: str) -> str:
    """Text that means nothing to Markdown or HTML."""
    return re.sub(r"[`|<>\s]+", " ", text)
