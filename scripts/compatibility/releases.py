"""What later releases of torch_musa answer otherwise than 2.7.1, with one torch: a process for each release.

`releases.json` has a row for each such name: path, the releases that answer alike, kind, how.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from scripts.compatibility.observe import Observation

#: The oldest comes first: it is what the columns of the page are about.
OLDEST = "2.7.1"
_KEPT = Path(__file__).resolve().with_name("releases.json")
# path -> (kind, how)
Answers = dict[str, tuple[str, str]]
# release -> what it answers otherwise than the oldest
Differences = dict[str, Answers]
ABSENT = "-"


def printed(seen: dict[str, tuple[Observation, bool]]) -> str:
    """What the process of one release hands to the one that asked for it."""
    return json.dumps({path: [observed.kind, observed.how] for path, (observed, _) in seen.items()})


def look(torch_version: str, oldest: Answers) -> Differences:
    """Ask a process for each later release that takes this torch."""
    from musasim.base import release

    later = [name for name in release.VERSIONS if name != OLDEST and release.takes(name, torch_version)]
    return {name: dict(_otherwise(oldest, _asked(name))) for name in later}


def _asked(name: str) -> Answers:
    command = [sys.executable, "-m", "scripts.compatibility", "--print", name]
    done = subprocess.run(command, env=dict(os.environ), capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"looking at torch_musa {name} failed:\n{done.stdout}{done.stderr}")
    found = json.loads(done.stdout.splitlines()[-1])
    return {path: (kind, how) for path, (kind, how) in found.items()}


def _otherwise(oldest: Answers, other: Answers) -> Iterator[tuple[str, tuple[str, str]]]:
    """By the kind of answer: that the same kind comes by another way changes nothing for a program."""
    for path in sorted({*oldest} & {*other}):
        if other[path][0] != oldest[path][0]:
            yield path, other[path]


def unaccounted(found: Differences) -> list[str]:
    """Names that have no answer in a later release."""
    rows = ((name, path, *answer) for name, answers in found.items() for path, answer in answers.items())
    return [f"{path} on torch_musa {name}: {how}" for name, path, kind, how in rows if kind == "unaccounted"]


def write(torch_version: str, found: Differences) -> None:
    """Keep the differences of the newest torch, which this is to be."""
    rows = [[name, path, *answer] for name, answers in found.items() for path, answer in answers.items()]
    lines = ",\n".join(json.dumps(row) for row in [[torch_version, *found], *rows])
    _KEPT.write_text(f"[\n{lines}\n]\n", encoding="utf-8")


def kept() -> tuple[str, Differences]:
    """The version of torch, and what is on record for it."""
    (torch_version, *names), *rows = json.loads(_KEPT.read_text(encoding="utf-8"))
    found: Differences = {name: {} for name in names}
    for name, path, kind, how in rows:
        found[name][path] = (kind, how)
    return torch_version, found


def section(oldest: Answers) -> Iterator[str]:
    """The part of the page: a row for each name that a later release answers otherwise."""
    torch_version, found = kept()
    paths = sorted({path for answers in found.values() for path in answers})
    yield f"| name, with torch {torch_version} | {' | '.join([OLDEST, *found])} | the later answer |"
    yield "|---" * (len(found) + 3) + "|"
    for path in paths:
        first = oldest.get(path, (ABSENT, ""))
        kinds = [first[0], *(answers.get(path, first)[0] for answers in found.values())]
        how = next(answers[path][1] for answers in reversed(found.values()) if path in answers)
        yield f"| `{path}` | {' | '.join(kinds)} | {how} |"
