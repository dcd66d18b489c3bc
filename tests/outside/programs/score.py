"""`python -m outside programs CHECKOUT`: how many programs of a suite come how far, compared with the list of what fails."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from outside import scoring
from outside.programs import stages, table
from outside.running import Bounds, chosen

NAME = "programs"
HEADER = """| suite | programs | ported whole | built | ran | right | say nothing | lack data |
|---|---|---|---|---|---|---|---|"""


def run(checkout: Path, results: Path, bounds: Bounds, only: str = "", score_only: bool = False) -> int:
    """Run what has no outcome yet, and report; 1 if something fails that is not on the list, or otherwise than the list says."""
    suite = table.read(checkout)
    results = results / suite.name
    programs = list(_chosen(suite, results, only, bounds.every, score_only))
    outcomes = list(_outcomes(programs, checkout, results, bounds))
    made = scoring.score((outcome.verdict() for outcome in outcomes), scoring.read(suite.kept, ""))
    report = "\n".join([HEADER, row(suite.name, outcomes), "", *_details(outcomes)])
    (results / "score.md").write_text(report + "\n", encoding="utf-8")
    print(report)
    for verdict in made.new:
        print(f"not on the list: {verdict.test}: {verdict.error}")
    for known in made.gone:
        print(f"on the list, but does not fail (that way): {known.tests}: {known.why}")
    return 1 if made.new or made.gone else 0


def _record(results: Path, program: table.Program) -> Path:
    return results / f"{program.name.replace(' ', '-')}.json"


def _chosen(suite: table.Suite, results: Path, only: str, size: int, score_only: bool) -> Iterator[table.Program]:
    names = chosen([program.name for program in suite.programs], only)
    programs = [program for program in suite.programs if program.name in names]
    if score_only:
        return (program for program in programs if _record(results, program).exists())
    return iter(_spread(programs, size))


def _outcomes(
    programs: Iterable[table.Program], checkout: Path, results: Path, bounds: Bounds
) -> Iterator[stages.Outcome]:
    """Of each program, as soon as it is known; a run that was broken off goes on where it was."""
    (results / "tree").mkdir(parents=True, exist_ok=True)
    place = stages.Place(checkout, results / "tree", stages.environment(), bounds)
    for program in programs:
        outcome = stages.run(program, place, _record(results, program))
        print(f"{program.name}: {outcome.stage}{outcome.error and f': {outcome.error}'}", flush=True)
        yield outcome


def _spread(programs: Sequence[table.Program], size: int) -> Sequence[table.Program]:
    """Of all programs `size`, evenly spread; all, where that is 0."""
    if not 0 < size < len(programs):
        return programs
    return [programs[int(i * len(programs) / size)] for i in range(size)]


def row(name: str, outcomes: Sequence[stages.Outcome]) -> str:
    """One row of the table: each stage counts the programs that came so far or further."""
    reached = [stages.STAGES.index(outcome.stage) for outcome in outcomes]
    whole = sum(not outcome.unported for outcome in outcomes)
    counts = [sum(stage >= stages.STAGES.index(least) for stage in reached) for least in ("built", "ran", "right")]
    silent = sum(outcome.stage == "ran" and outcome.verdict().verdict == "skipped" for outcome in outcomes)
    lacking = sum(outcome.stage == "lacking" for outcome in outcomes)
    return f"| {' | '.join(map(str, [name, len(outcomes), whole, *counts, silent, lacking]))} |"


def _details(outcomes: Iterable[stages.Outcome]) -> Iterator[str]:
    for outcome in outcomes:
        if outcome.stage != "right":
            yield f"- {outcome.program}: {outcome.error}"
        if outcome.unported:
            yield f"- {outcome.program}: not ported: {', '.join(outcome.unported)}"
