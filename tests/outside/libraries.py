"""Other people's libraries, whose own tests use CUDA: `python -m outside libraries CHECKOUTS`, a folder with a checkout of each."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path

from outside import running, scoring
from outside.suites import HERE, Suite

try:
    import tomllib
except ImportError:  # Python 3.10
    import tomli as tomllib

NAME = "libraries"
TABLE = HERE / "libraries.toml"


@dataclass(frozen=True)
class Library:
    """One row. `needs` are the modules that its tests import; where `about_cuda`, only tests that mention CUDA are run.

    `options` are arguments of pytest, its own or those that the library's conftest.py adds.
    """

    name: str
    github: str
    commit: str
    root: str
    files: tuple[str, ...]
    sources: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    about_cuda: bool = False
    start: str = ""
    options: tuple[str, ...] = ()
    together: bool = False

    @property
    def suite(self) -> Suite:
        """Its tests. The capability is one of NVIDIA's, because some tests are skipped with the chip's own."""
        env = {"TORCHADA_SIMULATE": "1", "TORCHADA_CUDA_CAPABILITY": "8.0", **self.env}
        harness = "torchada_cuda_only" if self.about_cuda else "nothing"
        # One file that cannot be imported is one failure, and the others of its process are run.
        plain = ("--confcutdir={root}", "--import-mode=importlib", "--continue-on-collection-errors")
        arguments = (*plain, "-p", "outside.torchvision_alone", *self.options)
        kept = f"{NAME}/{self.name}"
        more = {"start": self.start, "together": self.together}
        return Suite(self.name, self.root, self.files, harness, arguments, self.sources, env, kept, **more)

    def missing(self, checkout: Path) -> str:
        """Why it cannot be run, or ""."""
        if not checkout.is_dir():
            return f"no checkout {checkout} (https://github.com/{self.github} at {self.commit})"
        needed = [name for name in self.needs if find_spec(name) is None]
        return f"its tests import {', '.join(needed)}, which cannot be imported here" if needed else ""


def read(path: Path = TABLE) -> list[Library]:
    """The rows of the table."""
    rows = tomllib.loads(path.read_text(encoding="utf-8"))["library"]
    lists = ("files", "sources", "needs", "options")
    return [Library(**{**row, **{name: tuple(row.get(name, ())) for name in lists}}) for row in rows]


@dataclass(frozen=True)
class Outcome:
    """Of one library: its score, or why it was not run. `version` is the checkout's commit, "" where it is none of git's."""

    library: Library
    score: scoring.Score | None = None
    why: str = ""
    version: str = ""

    def row(self, torch: str) -> str:
        """A row of the table of scores."""
        if self.score is None:
            return f"| {self.library.name} | {torch} | | | | | not run: {self.why} |"
        return scoring.table(f"{self.library.name} {self.version[:8]}".strip(), torch, self.score)

    @property
    def differs(self) -> bool:
        return self.score is not None and bool(self.score.new or self.score.gone)


def run(
    libraries: list[Library],
    checkouts: Path,
    results: Path,
    bounds: running.Bounds,
    torch: str,
    score_only: bool = False,
) -> Iterator[Outcome]:
    """Run the tests of each library, as far as that can be done here, and compare with the list of what fails."""
    for library in libraries:
        checkout, folder = checkouts / library.name, results / library.name
        why = _no_verdicts(folder) if score_only else library.missing(checkout)
        if why:
            yield Outcome(library, why=why)
            continue
        version = _commit(checkout)
        if not score_only:
            for path, verdicts in running.run(library.suite, checkout, folder, bounds):
                print(f"{library.name}: {path.name}: {len(verdicts)} tests", flush=True)
        known = scoring.read(HERE / "kept" / f"{library.suite.kept}.toml", torch, version)
        yield Outcome(library, scoring.score(running.recorded(folder), known), version=version)


def _no_verdicts(folder: Path) -> str:
    return "" if any(folder.glob("*.jsonl")) else f"no verdicts in {folder}"


def _commit(checkout: Path) -> str:
    """The commit that is checked out, or "" where git does not know."""
    command = ["git", "-C", str(checkout), "rev-parse", "HEAD"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError:
        return ""
    return done.stdout.strip() if done.returncode == 0 and (checkout / ".git").exists() else ""


def report(outcomes: list[Outcome], torch: str) -> str:
    """The table of scores, and what is not as the lists say."""
    lines = [scoring.HEADER, *(outcome.row(torch) for outcome in outcomes)]
    for outcome in outcomes:
        if outcome.score is not None:
            name = outcome.library.name
            lines += [f"{name}: not on the list: {each.test}: {each.error}" for each in outcome.score.new]
            lines += [f"{name}: on the list, but does not fail (that way): {row.tests}" for row in outcome.score.gone]
    return "\n".join([*lines, _on_device(outcomes)]) + "\n"


def _on_device(outcomes: list[Outcome]) -> str:
    """How many tests had the simulated device compute something, of each library and in all."""
    scores = {outcome.library.name: outcome.score.on_device for outcome in outcomes if outcome.score is not None}
    ran = {name: (counts["passed"], counts["failed"]) for name, counts in scores.items()}
    lines = [f"{name}: on the device: {passed} passed, {failed} failed" for name, (passed, failed) in ran.items()]
    passed, failed = (sum(counts[place] for counts in ran.values()) for place in (0, 1))
    reached = sum(any(counts) for counts in ran.values())
    return "\n".join([*lines, f"in all: on the device: {passed} passed, {failed} failed; libraries: {reached}"])
