"""The report as one self-contained page of HTML.

The page also contains its data as JSON, so that the next process can add to it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from html import escape
from typing import Any

from torchada.report import fidelity, pages
from torchada.report.answers import EMULATED, MEANINGS, OF_CALLS, UNSUPPORTED, UNTOUCHED, title
from torchada.report.pages import parts
from torchada.report.text import counted, moment
from torchada.telemetry import computed, program, statement
from torchada.telemetry.places import shown

Document = dict[str, Any]
Use = dict[str, Any]
Group = list[Use]
_FOOTER = (
    'A call counts where its API means CUDA by its name, or where its arguments named a CUDA device; a call with "cpu" does not. '
    'The line is the first one outside torch, torchada and the backend; "through" names the function of torch that it called. In '
    "regions compiled by torch.compile, calls are seen when they are traced, not each time they run. A process that a signal "
    "killed is missing."
)
_LONGEST_COMMAND = 400
_NOTHING = '<p class="soft">Nothing was recorded.</p>'
_UNUSED = "No process has recorded a use of CUDA: none called an API of it, or none came to its end."
_CALM = '<p class="card calm">Nothing that was called is unsupported, and nothing had to be emulated.</p>'


def page(document: Document) -> str:
    """The page for a report (see `report` for its schema)."""
    uses, folder = document["uses"], document["folder"]
    called = program.name(document["program"])
    apis = _grouped(uses, lambda use: (use["api"], use["kind"]))
    return pages.page(
        f"CUDA in {called}",
        document,
        eyebrow="CUDA as this program used it, and what answered",
        name=called,
        surroundings=_surroundings(document),
        question=_numbers(document),
        shares=_shares(document["totals"]),
        heading="APIs",
        switches={kind: title(kind) for kind in OF_CALLS if any(use["kind"] == kind for use in uses)},
        rows=(_attention(apis, folder) if apis else _why_nothing(document)) + (_apis(apis, folder) or _NOTHING),
        aside_title="Who called",
        aside=_packages(uses),
        below=_computed(document["processes"]) + _processes(document["processes"]),
        footer=_FOOTER,
    )


def _surroundings(document: Document) -> str:
    when = f"{moment(document['created'])}: {' '.join(document['program'])[:_LONGEST_COMMAND]}"
    if not document["processes"]:
        return when
    first = document["processes"][0]
    device = f"on {first['backend']}{', simulated' if first['simulated'] else ''}"
    versions = f"torch {first['torch']}, {first['adapter']}, torchada {first['torchada']}, Python {first['python']}"
    return f"{when}, {device}: {versions}"


def _why_nothing(document: Document) -> str:
    if document["inactive"]:
        why = f"torchada was inactive, so nothing could be recorded: {document['inactive']}."
        return f'<p class="card calm error">{escape(why)}</p>'
    return f'<p class="card calm warning">{_UNUSED}</p>'


def _numbers(document: Document) -> str:
    nouns = {"calls": "call", "apis": "API", "sites": "line", "packages": "package"}
    numbers = [counted(document["totals"][name], noun) for name, noun in nouns.items()]
    return ", ".join([*numbers, counted(len(document["processes"]), "process")])


def _shares(totals: Document) -> list[parts.Share]:
    counts = {kind: totals["kinds"].get(kind, 0) for kind in OF_CALLS}
    percent = {kind: f"{100 * count / totals['calls']:.1f} %" if count else "-" for kind, count in counts.items()}
    return [parts.Share(kind, counts[kind], f"{title(kind)}, {percent[kind]}", MEANINGS[kind]) for kind in OF_CALLS]


def _attention(apis: Sequence[Group], folder: str) -> str:
    """What is unsupported or emulated comes first, with the lines that call it, so that nobody has to look for it."""
    urgent = [group for kind in (UNSUPPORTED, EMULATED) for group in apis if group[0]["kind"] == kind]
    most = max(map(_calls, apis), default=1)
    rows = "".join(_row(group, most, folder, opened=True) for group in urgent)
    return parts.group("What needs attention", sum(map(_calls, urgent)), rows) if urgent else _CALM


def _apis(apis: Sequence[Group], folder: str) -> str:
    """All APIs, grouped by the module or class that they belong to."""
    owners: dict[str, list[Group]] = {}
    for group in apis:
        owners.setdefault(_owner(group[0]["api"]), []).append(group)
    most = max(map(_calls, apis), default=1)
    totals = {owner: sum(map(_calls, groups)) for owner, groups in owners.items()}
    return "".join(
        parts.group(owner, totals[owner], "".join(_row(group, most, folder) for group in owners[owner]))
        for owner in sorted(owners, key=lambda owner: -totals[owner])
    )


def _row(group: Group, most: int, folder: str, opened: bool = False) -> str:
    first, count = group[0], _calls(group)
    answer = f"→ {first['to']}" if first["to"] else "no counterpart"
    look = first["kind"] if first["kind"] in OF_CALLS else UNTOUCHED
    places = parts.places([_place(use, folder) for use in group])
    return parts.row(look, first["api"], answer, title(first["kind"]), f"{count:,}", places, count / most, opened)


def _place(use: Use, folder: str) -> parts.Place:
    where = f"{shown(use['file'], use['package'], folder)}:{use['line']}"
    through = f", through {use['through']}" if use["through"] else ""
    remark = f"in {use['function']}, {_whose(use['package'])}{through}"
    return parts.Place(where, remark, use["source"], use["count"], use["file"])


def _packages(uses: Sequence[Use]) -> str:
    counts: dict[str, Counter[str]] = {}
    for use in uses:
        counts.setdefault(_whose(use["package"]), Counter())[use["kind"]] += use["count"]
    return parts.filters(counts, {kind: title(kind) for kind in OF_CALLS})


def _computed(processes: list[Mapping[str, object]]) -> str:
    """How operators were computed in all processes together, and what that shows; nothing where no process is."""
    if not processes:
        return ""
    meaning = parts.table(
        ("", "what this run shows"), fidelity.meaning(any(process["simulated"] for process in processes))
    )
    ways = parts.table(("", "different", "runs", "most often"), statement.rows(processes))
    every = "".join(_way(title, computed.total(processes, name)) for name, title in statement.WAYS.items())
    return f'<h2>How it was computed</h2><section class="card">{ways}{every}{meaning}</section>'


def _way(title: str, counts: Counter[str] | None) -> str:
    """All that was computed in one way, in a row that opens; nothing where nothing was, or nobody has counted."""
    if not counts:
        return ""
    table = parts.table(("name", "runs"), [(name, f"{count:,}") for name, count in counts.most_common()])
    return f"<details><summary>All {escape(title.partition(':')[0])}</summary>{table}</details>"


def _processes(processes: Sequence[Document]) -> str:
    rows = [
        (
            str(process["pid"]),
            str(process["parent"]),
            f"{process['ended'] - process['started']:.1f} s",
            " ".join(process["command"]),
        )
        for process in processes
    ]
    table = parts.table(("process", "parent", "recorded for", "command"), rows)
    return f'<h2>Processes</h2><section class="card">{table if rows else "None."}</section>'


def _whose(package: str) -> str:
    return "the script" if package == "__main__" else package


def _owner(api: str) -> str:
    path = api.partition("(")[0]
    return path.rpartition(".")[0] or "elsewhere" if " " not in path else "elsewhere"


def _grouped(uses: Sequence[Use], key: Callable[[Use], Hashable]) -> list[Group]:
    """Groups, those with the most calls first; within a group the uses keep that order, which a report has."""
    groups: dict[Hashable, Group] = {}
    for use in uses:
        groups.setdefault(key(use), []).append(use)
    return sorted(groups.values(), key=_calls, reverse=True)


def _calls(uses: Iterable[Use]) -> int:
    return sum(use["count"] for use in uses)
