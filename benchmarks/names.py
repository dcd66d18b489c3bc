"""What a call of each public name of torch.cuda costs under torchada, written for native MUSA, and under torchada 0.1.103.

The names are read from torch, and how each is answered from scripts/compatibility/observed.json; uses.py says how each is called.
Processes take turns (see overhead.py), and are started several times, because the placement of code and data stays the same within
a process. Times are processor time, the minimum over all rounds; ratios are those of the minima.

    python benchmarks/names.py [--only PATTERN]... [--rounds N] [--starts N] [--old FOLDER] [--save] [--write]
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import costs_page
import record
from overhead import CHECKOUT, NATIVE, OLD, OURS, CallError, Times, Worker, _install_old, is_simulated
from uses import SETUP, Use, submodules, uses
from worker import Plan

ROOT = CHECKOUT.parent
STAND_INS = ROOT / "tests" / "support" / "stand_ins"  # of the management library, for machines without a driver
BATCH_NS = 1e6  # shorter than a slice of the scheduler, so that some are undisturbed on a busy machine


@dataclass
class Cost:
    """The measurements of one use, by column: nanoseconds of each round, or the exception that the call raises."""

    use: Use
    times: Times = field(default_factory=dict)
    fails: dict[str, str] = field(default_factory=dict)

    def summary(self) -> dict[str, Any]:
        """The summary for the page and the history."""
        others = [other for other in (NATIVE, OLD) if {OURS, other} <= self.times.keys()]
        return {
            "kind": self.use.kind,
            "call": self.use.cuda,
            "ns": {column: round(min(values), 1) for column, values in self.times.items()},
            "ratio": {other: round(min(self.times[OURS]) / min(self.times[other]), 3) for other in others},
            "at least": {other: round(self._of_most_rounds(other), 3) for other in others},
            "fails": self.fails,
        }

    def _of_most_rounds(self, other: str) -> float:
        """The ratio that three of four rounds reach: if this is above a limit too, the reason is not noise."""
        ratios = sorted(ours / theirs for ours, theirs in zip(self.times[OURS], self.times[other]))
        return ratios[len(ratios) // 4]


def load_torch() -> None:
    """Import torch redirected in this process too, because the names are discovered and compared by their objects."""
    os.environ["TORCHADA_SIMULATE"] = "1" if is_simulated() else "0"
    sys.path[:0] = [str(CHECKOUT), str(ROOT)]
    sys.path.append(str(STAND_INS))
    import torchada  # noqa: F401  (the hook, where no start-up file is in force)

    # isort: split
    import torch  # noqa: F401


@contextmanager
def processes(old: Path | None) -> Iterator[dict[str, Worker]]:
    """A fresh process of each kind, by column."""
    folders = {OURS: CHECKOUT, NATIVE: CHECKOUT, **({OLD: old} if old is not None else {})}
    setup = SETUP.replace("SUBMODULES", repr(submodules()))
    with ExitStack() as stack:
        scratch = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        started = {}
        for column, folder in folders.items():
            plan = Plan(column, [str(folder), *sys.path], simulated=is_simulated(), setup=setup)
            started[column] = Worker(plan, scratch)
            stack.callback(started[column].close)
        yield started


def measure(cost: Cost, started: dict[str, Worker], rounds: int) -> None:
    """Add `rounds` rounds to the measurements of one use."""
    asked: dict[str, tuple[Worker, str, int]] = {}
    for column, worker in started.items():
        statement = _counterpart(worker, cost.use) if column == NATIVE else cost.use.cuda
        try:
            if statement is not None:
                asked[column] = worker, statement, _repetitions(worker, statement)
        except CallError as error:
            cost.fails[column] = error.exception
    for turn in range(rounds):
        # Forwards and backwards in turn, so that no process always comes first.
        for column in list(asked)[:: 1 if turn % 2 else -1]:
            worker, statement, number = asked[column]
            cost.times.setdefault(column, []).append(worker.batch(statement, number))


def _counterpart(worker: Worker, use: Use) -> str | None:
    """The statement written for MUSA; None where torch_musa has no such name."""
    for place, statement in use.native:
        try:
            worker.batch(place, 1)
        except CallError:
            continue
        return statement
    return None


def _repetitions(worker: Worker, statement: str) -> int:
    worker.batch(statement, 1)  # first uses import, build and cache
    few = max(1, int(BATCH_NS / worker.batch(statement, 10)))
    return max(1, int(BATCH_NS / worker.batch(statement, min(few, 1000))))


def measure_all(chosen: list[Use], old: Path | None, rounds: int, starts: int) -> tuple[dict[str, str], dict[str, Any]]:
    """The versions of everything, and the summary of each use by its path."""
    costs = [Cost(use) for use in chosen]
    versions: dict[str, str] = {}
    for start in range(starts):
        with processes(old) as started:
            versions = {**started[NATIVE].versions, **started[OURS].versions}
            for number, cost in enumerate(costs, 1):
                print(f"\rstart {start + 1}/{starts}, name {number}/{len(costs)}", end="", file=sys.stderr, flush=True)
                measure(cost, started, rounds)
    print(file=sys.stderr)
    return versions, {cost.use.path: cost.summary() for cost in costs}


def ours_alone_fails(results: dict[str, Any]) -> list[str]:
    """Calls that work in native code and not as written for CUDA."""
    pairs = ((result["call"], result["fails"]) for result in results.values())
    return [
        f"{call} fails with {fails[OURS]}"
        for call, fails in pairs
        if OURS in fails and fails.get(NATIVE) != fails[OURS]
    ]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", action="append", default=[], metavar="PATTERN", help="names below torch.cuda: nvtx.*")
    parser.add_argument("--rounds", type=int, default=20, help="rounds per name and start (default 20)")
    parser.add_argument("--starts", type=int, default=4, help="how often the processes are started anew (default 4)")
    parser.add_argument(
        "--old", type=Path, metavar="FOLDER", help=f"where torchada {OLD} is unpacked; fetched otherwise"
    )
    parser.add_argument("--save", action="store_true", help=f"append the results to {record.HISTORY.name}")
    parser.add_argument("--write", action="store_true", help=f"save, and write docs/reference/{costs_page.PAGE.name}")
    options = parser.parse_args()
    if options.write and options.only:
        parser.error("the page is of all names: --write goes without --only")
    record.stay_on_one_core()
    load_torch()
    try:
        with tempfile.TemporaryDirectory() as folder:
            old = options.old or _fetch_old(Path(folder))
            versions, results = measure_all(uses(options.only), old, options.rounds, options.starts)
    except RuntimeError as error:
        print(f"names.py: {error}", file=sys.stderr)
        return 1
    print("\n".join(costs_page.body(results)))
    if options.save or options.write:
        measured = {"rounds": options.rounds, "starts": options.starts, "names": results}
        entry = record.append("names", versions, measured)
        if options.write:
            costs_page.PAGE.write_text(costs_page.page(entry))
    problems = ours_alone_fails(results)
    for problem in problems:
        print(problem, file=sys.stderr)
    return 1 if problems else 0


def _fetch_old(folder: Path) -> Path | None:
    """0.1.103 from the package index; without it, its column is left out, with a line on stderr."""
    try:
        return _install_old(folder / "old")
    except RuntimeError as error:
        print(f"torchada {OLD} is left out: {error}", file=sys.stderr)
        return None


if __name__ == "__main__":
    sys.exit(main())
