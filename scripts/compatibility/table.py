"""What was observed, kept as JSON, and docs/reference/compatibility.md, made from it.

The file has a row for each answer: path, kind, how, whether the name is public, and the versions of torch that gave it.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path

from scripts.compatibility import releases
from scripts.compatibility.observe import KINDS, Observation

ROOT = Path(__file__).resolve().parents[2]
OBSERVED = Path(__file__).resolve().with_name("observed.json")
# The torch with which releases of torch_musa are compared: that of the project's own environment.
DEFAULT_TORCH = "2.13.0"
TABLE = ROOT / "docs" / "reference" / "compatibility.md"
# path -> (kind, how, public)
Record = dict[str, tuple[str, str, bool]]

_INTRO = """# Compatibility: every name of torch.cuda

Made by `python -m scripts.compatibility`, which uses each name of `torch.cuda` and its submodules in the installed torch, on the
simulated torch_musa 2.7.1, 2.9.1 and 2.11.0, and records what happened. CI fails when this page and torch disagree, or when a name
is missing.

| kind | meaning |
|---|---|
| same | The very object of `torch.musa`, or code of torch that is not specific to CUDA. |
| adapted | The call reaches `torch_musa` through Python code of torch or torchada. |
| emulated | torchada answers by itself, because torch_musa has nothing of the kind and an honest answer exists without it. |
| unsupported | `torchada.UnsupportedError`, which names the API and says why. |
"""

_BY_RELEASE = """## Later releases of torch_musa

The columns of the tables below are versions of torch, all on the simulated torch_musa 2.7.1. On the simulated 2.9.1 and 2.11.0
every name gets the same kind of answer, but these:
"""


def record_of(observations: dict[str, tuple[Observation, bool]]) -> Record:
    return {path: (seen.kind, seen.how, public) for path, (seen, public) in observations.items()}


def write_record(version: str, record: Record) -> None:
    """Put the record of one version beside those of the others, or in the place of its last one."""
    OBSERVED.write_text(written({**records(), version: record}), encoding="utf-8")


def written(known: dict[str, Record]) -> str:
    """The text of the file: a line for each answer, sorted by path, those of the oldest torch first."""
    versions: dict[tuple[str, str, str, bool], list[str]] = {}
    for version in sorted(known, key=_parts):
        for path, answer in known[version].items():
            versions.setdefault((path, *answer), []).append(version)
    rows = sorted(versions.items(), key=lambda row: (row[0][0], _parts(row[1][0])))
    return "[\n" + ",\n".join(json.dumps([*answer, " ".join(names)]) for answer, names in rows) + "\n]\n"


def records() -> dict[str, Record]:
    """Everything on record, by torch version, oldest first."""
    known: dict[str, Record] = {}
    for path, kind, how, public, versions in json.loads(OBSERVED.read_text(encoding="utf-8")):
        for version in versions.split():
            known.setdefault(version, {})[path] = (kind, how, public)
    return dict(sorted(known.items(), key=lambda item: _parts(item[0])))


def _parts(version: str) -> list[int]:
    return [int(part) for part in version.split(".")]


def page(known: dict[str, Record]) -> str:
    """docs/reference/compatibility.md."""
    oldest = {path: (kind, how) for path, (kind, how, _) in known.get(releases.kept()[0], {}).items()}
    lines = [_INTRO, *_totals(known), "", _BY_RELEASE, *releases.section(oldest)]
    rows = sorted({(path.rpartition(".")[0], path) for record in known.values() for path in record})
    for module, paths in groupby(rows, key=lambda row: row[0]):
        lines += ["", f"## {module}", "", *_section(known, [path for _, path in paths])]
    return "\n".join(lines) + "\n"


def _totals(known: dict[str, Record]) -> Iterator[str]:
    yield f"| torch | {' | '.join(KINDS)} | names |"
    yield "|---" * (len(KINDS) + 2) + "|"
    for version, record in known.items():
        count = Counter(kind for kind, _, _ in record.values())
        yield f"| {version} | {' | '.join(str(count[kind]) for kind in KINDS)} | {len(record)} |"


def _section(known: dict[str, Record], paths: list[str]) -> Iterator[str]:
    """Public names first; the names that CUDA code uses although nobody promised them follow."""
    yield f"| name | {' | '.join(known)} | answered by |"
    yield "|---" * (len(known) + 2) + "|"
    for path in sorted(paths, key=lambda path: (not _is_public(known, path), path)):
        kinds = [record[path][0] if path in record else "-" for record in known.values()]
        how = next(record[path][1] for record in reversed(known.values()) if path in record)
        yield f"| `{path.rpartition('.')[2]}` | {' | '.join(kinds)} | {_cell(how)} |"


def _is_public(known: dict[str, Record], path: str) -> bool:
    return any(path in record and record[path][2] for record in known.values())


def _cell(text: str) -> str:
    text = text.replace("|", "\\|")
    return f"`{text}`" if text.startswith(("torch.musa", "torch_musa", "torch.")) and " " not in text else text
