"""The report: a document to which every process adds its part, stored as JSON, in a page of HTML, or in a statement in Markdown.

It does not need torch.

Its schema is torchada/report/schemas/run.json, which docs/reference/json.md explains.
"""

from __future__ import annotations

import json
import linecache
import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from torchada.base.private import masked_command
from torchada.report import schemas
from torchada.telemetry import program

if TYPE_CHECKING:
    from torchada.telemetry.recorder import Counts

SUFFIXES = (".json", ".html", ".md")
Document = dict[str, Any]
_LONGEST_SOURCE = 200
_UNPUBLISHED: Document = {"host": "", "folder": "", "command": []}
_NOWHERE: Document = {"file": "", "line": 0, "function": "", "package": "", "through": "", "source": ""}


def uses(counts: Counts) -> list[dict[str, Any]]:
    """The counts of a recorder as entries of a report, without the processes."""
    entries = []
    for (use, site), count in counts.items():
        source = linecache.getline(site.file, site.line).strip()[:_LONGEST_SOURCE]
        answer = {"api": use.api, "kind": use.kind, "to": use.to}
        entries.append({**answer, "count": count, **asdict(site), "source": source})
    return entries


def empty(program: Sequence[str] = (), folder: str = "", inactive: str = "") -> Document:
    """The report of a program that has not run yet; `inactive` says why nothing will be redirected in it."""
    given = {"program": masked_command(program), "folder": folder, "inactive": inactive}
    return {**schemas.envelope("run"), **given, "processes": [], "totals": totals([]), "uses": []}


def add(document: Document, process: Mapping[str, Any], used: Sequence[Mapping[str, Any]]) -> None:
    """Add to `document` what `process` used. A process may be added several times, each time with what is new."""
    index = _process_index(document["processes"], process)
    known = {_place(use): use for use in document["uses"]}
    for use in used:
        entry = known.get(_place(use))
        if entry is None:
            entry = known[_place(use)] = {**use, "count": 0, "processes": []}
        entry["count"] += use["count"]
        entry["processes"] = sorted({*entry["processes"], index})
    document["uses"] = sorted(known.values(), key=lambda use: (-use["count"], use["api"], use["file"], use["line"]))
    document["totals"] = totals(document["uses"])


def totals(used: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Numbers of calls, APIs, sites and packages, and of calls by kind."""
    kinds: Counter[str] = Counter()
    for use in used:
        kinds[use["kind"]] += use["count"]
    return {
        "calls": sum(kinds.values()),
        "apis": len({use["api"] for use in used}),
        "sites": len({(use["file"], use["line"]) for use in used}),
        "packages": len({use["package"] for use in used}),
        "kinds": dict(kinds),
    }


def merge(paths: Sequence[str], process: Mapping[str, Any], used: Sequence[Mapping[str, Any]]) -> None:
    """Add the part of one process to the report at each of `paths`, which have the same contents. A lock serialises processes."""
    fullest = min(paths, key=lambda path: path.endswith(".md"))  # a statement leaves out what is nobody's business
    with _turn(Path(paths[0]).parent):
        document = load(fullest)
        add(document, process, used)
        store(paths, document)


def load(path: str) -> Document:
    """The report at `path`; an empty one if there is none that this version understands."""
    try:
        text = Path(path).read_text(encoding="utf-8")
        if path.endswith(".html"):
            from torchada.report.pages import data_of

            text = data_of(text)
        elif path.endswith(".md"):
            from torchada.telemetry import statement

            text = statement.data_of(text)
        document: Document = json.loads(text)
        if schemas.is_current(document, "run"):
            return document
    except (OSError, ValueError, RecursionError):
        pass
    return empty()


def store(paths: Sequence[str], document: Document) -> None:
    """Write the report to each path, in the format of its suffix, so that a reader finds either the old or the new one complete."""
    for path in paths:
        text = _text(path, document)
        partial = f"{path}.{os.getpid()}.tmp"
        try:
            # A file name may contain bytes that are not text.
            Path(partial).write_bytes(text.encode("utf-8", "backslashreplace"))
            os.replace(partial, path)
        except OSError:  # a full disk: each process of the program would leave a part of its own there
            Path(partial).unlink(missing_ok=True)
            raise


def _text(path: str, document: Document) -> str:
    if path.endswith(".html"):
        from torchada.telemetry.page import page

        return page(document)
    if path.endswith(".md"):
        from torchada.telemetry.statement import markdown

        return markdown(document, published(document))
    return json.dumps(document, indent=1) + "\n"


def published(document: Document) -> Document:
    """The report without what says where and by whom the program was run. Uses from different lines come together."""
    name = os.path.basename(program.name(document["program"]))
    made = {**empty([name], "", document["inactive"]), "created": document["created"], "totals": document["totals"]}
    made["processes"] = [{**process, **_UNPUBLISHED} for process in document["processes"]]
    together: dict[tuple[str, str, str], dict[str, Any]] = {}
    for use in document["uses"]:
        api, kind, to = use["api"], use["kind"], use["to"]
        new = {"api": api, "kind": kind, "to": to, "count": 0, **_NOWHERE, "processes": []}
        entry = together.setdefault((api, kind, to), new)
        entry["count"] += use["count"]
        entry["processes"] = sorted({*entry["processes"], *use["processes"]})
    return {**made, "uses": list(together.values())}


def _place(use: Mapping[str, object]) -> tuple[object, ...]:
    return tuple(use[name] for name in ("api", "kind", "to", "file", "line", "function", "package", "through"))


def _process_index(processes: list[dict[str, Any]], process: Mapping[str, Any]) -> int:
    identity = ("pid", "host", "started")
    for index, known in enumerate(processes):
        if all(known[name] in (process[name], "") for name in identity):  # a statement does not say which host
            known.update(process)
            return index
    processes.append(dict(process))
    return len(processes) - 1


@contextmanager
def _turn(folder: Path) -> Iterator[None]:
    """A block in which no other process writes a report in `folder`. The lock is on the folder, because the files are replaced."""
    import fcntl

    handle = os.open(folder, os.O_RDONLY)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)
        except OSError:
            pass  # a file system without locks: a part may be lost, but the program continues
        yield
    finally:
        os.close(handle)
