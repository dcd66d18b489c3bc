"""All programs of one process, and which patches are left over."""

from __future__ import annotations

from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import Any

from support.compiled.program import Program, read
from support.compiled.run import Runner

FOLDER = Path(__file__).resolve().parent / "programs"


@cache
def programs(spelling: str) -> list[Program]:
    """The programs written by hand, and those made of expressions. Read once in a process, because some define operators."""
    from support.compiled.expressions import made

    written = [program for path in sorted(FOLDER.glob("*.py")) for program in read(path, spelling)]
    covered = frozenset(place for program in written for place in program.covers)
    return [*written, *made(spelling, covered)]


def report(spelling: str, backend: str, chosen: frozenset[str]) -> dict[str, Any]:
    """The outcome of each program (of `chosen`, if any), and for CUDA's spelling how it accounts for the patches in force."""
    if spelling == "cuda":
        from support.compiled.accounts import accounts, mutants

        skipped = import_areas()
    todo = [program for program in programs(spelling) if program.native or spelling == "cuda"]
    runner = Runner(spelling, backend)
    seen = {p.name: runner.seen(p) for p in todo if not chosen or p.name in chosen}
    found: dict[str, Any] = {"programs": seen}
    if spelling == "cuda":
        found |= accounts(todo, seen)
        found["skipped"] = skipped
        found["mutants"] = mutants(runner, todo, chosen) if chosen else {}
    for entry in seen.values():
        del entry["used"]
    return found


def import_areas() -> list[str]:
    from support.compiled.applied import import_everything

    return import_everything()


def matches(name: str, patterns: Any) -> str | None:
    """The first of `patterns` that `name` matches."""
    return next((pattern for pattern in patterns if fnmatchcase(name, pattern)), None)
