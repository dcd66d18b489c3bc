"""Compares what failed with the list that is kept of it, and makes the table of scores."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path

from outside.running import Verdict

try:
    import tomllib
except ImportError:  # Python 3.10
    import tomli as tomllib

#: What may be behind a failure.
CAUSES = {
    "ours": "torchada is wrong",
    "simulator": "musasim is wrong, or lacks it",
    "nvidia": "only NVIDIA's hardware or software has it",
    "vendor": "torch_musa does the same, or the test itself is wrong",
    "text": "only the words of a message differ",
    "version": "the test was written for another version of torch",
    "machine": "the machine lacks what the test needs",
    "library": "the library's own: the test fails on the CPU as well, where torchada is switched off",
    "private": "it uses a private name, file or object of another implementation",
    "design": "it is answered in another way here, which the documentation gives",
    "lacking": "a public behaviour that is missing here",
}


@dataclass(frozen=True)
class Known:
    """A failure that is known: `tests` is a pattern of names, `error` a regular expression of its message."""

    tests: str
    cause: str
    why: str
    error: str = ""
    #: Versions of torch (prefixes) that it concerns; empty for all.
    torch: tuple[str, ...] = ()
    #: Versions of the checkout, likewise.
    source: tuple[str, ...] = ()
    #: It does not always fail.
    sometimes: bool = False

    def covers(self, verdict: Verdict) -> bool:
        return _matches(self.tests, verdict.test) and re.search(self.error, verdict.error) is not None


def _matches(pattern: str, test: str) -> bool:
    """Brackets are parts of names here, and not sets of characters."""
    return fnmatchcase(test, pattern.replace("[", "[[]"))


def read(path: Path, torch: str, source: str = "") -> list[Known]:
    """The list that is kept for a suite, of this version of torch and of the checkout. A row without a known cause is an error."""
    if not path.exists():
        return []
    rows = tomllib.loads(path.read_text(encoding="utf-8")).get("failure", [])
    known = [
        Known(**{**row, "torch": tuple(row.get("torch", ())), "source": tuple(row.get("source", ()))}) for row in rows
    ]
    for row in known:
        if row.cause not in CAUSES or not row.why:
            raise SystemExit(f"{path}: {row.tests!r} needs a reason and one of the causes {', '.join(CAUSES)}")
    return [row for row in known if _concerns(row.torch, torch) and _concerns(row.source, source)]


def _concerns(prefixes: tuple[str, ...], version: str) -> bool:
    return not prefixes or version.startswith(prefixes)


@dataclass
class Score:
    """Counts of one run, and how it differs from the list."""

    counts: Counter[str] = field(default_factory=Counter)
    causes: Counter[str] = field(default_factory=Counter)
    #: The verdicts of the tests that had the simulated device compute something.
    on_device: Counter[str] = field(default_factory=Counter)
    #: Failures that no row covers.
    new: list[Verdict] = field(default_factory=list)
    #: Rows whose tests ran, and none of them failed.
    gone: list[Known] = field(default_factory=list)


def score(verdicts: Iterable[Verdict], known: list[Known]) -> Score:
    """Count the verdicts and assign a cause to each failure."""
    made, hit, all_verdicts = Score(), set(), list(verdicts)
    for verdict in all_verdicts:
        made.counts[verdict.verdict] += 1
        made.on_device[verdict.verdict] += verdict.operators > 0
        if verdict.verdict == "failed":
            row = next((row for row in known if row.covers(verdict)), None)
            if row is None:
                made.new.append(verdict)
            else:
                hit.add(row)
                made.causes[row.cause] += 1
    ran = [verdict.test for verdict in all_verdicts]
    idle = [row for row in known if row not in hit and not row.sometimes]
    made.gone = [row for row in idle if any(_matches(row.tests, test) for test in ran)]
    return made


def table(name: str, torch: str, made: Score) -> str:
    """One row of Markdown: suite, torch, counts, causes."""
    causes = ", ".join(f"{count} {cause}" for cause, count in sorted(made.causes.items()))
    causes = ", ".join(filter(None, [causes, f"{len(made.new)} unknown" if made.new else ""])) or "-"
    counts = " | ".join(str(made.counts[each]) for each in ("passed", "failed", "skipped", "xfailed"))
    return f"| {name} | {torch} | {counts} | {causes} |"


def kinds(verdicts: Iterable[Verdict]) -> str:
    """How many pairs of an operator and a type are wrong, refused and right: a table with a row for each direction."""
    counts = Counter((verdict.test.rpartition(" ")[2], _kind(verdict)) for verdict in verdicts)
    rows = ["| | wrong | refused | right | right of all |", "|---|---|---|---|---|"]
    for direction in ("forward", "gradients"):
        wrong, refused, right = (counts[direction, kind] for kind in ("wrong", "refused", "right"))
        share = right / max(wrong + refused + right, 1)
        rows.append(f"| {direction} | {wrong} | {refused} | {right} | {share:.2%} |")
    return "\n".join(rows)


def _kind(verdict: Verdict) -> str:
    if verdict.verdict != "failed":
        return "right" if verdict.verdict == "passed" else verdict.verdict
    return "wrong" if verdict.error.startswith("wrong") else "refused"


HEADER = """| suite | torch | passed | failed | skipped | expected failures | causes |
|---|---|---|---|---|---|---|"""
