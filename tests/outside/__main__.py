"""`python -m outside SUITE CHECKOUT [options]`, from the folder `tests`; `op-db` and most of `trainings` have no checkout."""

from __future__ import annotations

import argparse
import sys
import tarfile
import tempfile
from collections.abc import Iterable
from importlib.metadata import version
from pathlib import Path

from musasim.base.release import belonging_to
from outside import headers, libraries, running, scoring
from outside.cases import score as cases
from outside.parts import Part
from outside.programs import score as programs
from outside.suites import HERE, OP_DB, RELEASES, SUITES, Suite, op_db
from outside.trainings import score as trainings


def main() -> int:
    """Run a suite and compare; 1 if something fails that is not on the list, or otherwise than the list says."""
    options = _parse()
    if options.suite == libraries.NAME:
        return _libraries(options)
    if options.suite == programs.NAME:
        return _programs(options)
    if options.suite == trainings.NAME:
        return _trainings(options)
    if options.suite == cases.NAME:
        return _cases(options)
    checkout = _unpacked(options.checkout) if options.checkout.is_file() else options.checkout.resolve()
    torch, suite = version("torch"), _suite(options)
    name = options.suite if suite is None else suite.name
    results = _results(options, f"{name}-{torch}")
    bounds = _bounds(options)
    print(f"verdicts are kept in {results}", flush=True)
    verdicts = running.recorded(results) if options.score else []
    if options.score:
        runs: Iterable[tuple[Path, list[running.Verdict]]] = ()
    elif suite is None:
        runs, verdicts = headers.run(checkout, results, options.only, options.clang), running.recorded(results)
    else:
        runs = running.run(suite, checkout, results, bounds, "" if suite.program else options.only)
    for path, found in runs:
        failed = sum(each.verdict == "failed" for each in found)
        print(f"{path.name}: {len(found)} tests, {failed} failed", flush=True)
        verdicts += found
    kept = HERE / "kept" / f"{(suite and suite.kept) or options.suite}.toml"
    made = scoring.score(verdicts, scoring.read(kept, torch, _source(options, checkout)))
    report = f"{scoring.HEADER}\n{scoring.table(name, torch, made)}\n"
    if suite is not None and suite.program:
        report += f"\n{scoring.kinds(verdicts)}\n"
    (results / "score.md").write_text(report, encoding="utf-8")
    print(report)
    for verdict in made.new:
        print(f"not on the list: {verdict.test}: {verdict.error}")
    for row in made.gone:
        print(f"on the list, but does not fail (that way): {row.tests}: {row.why}")
    return 1 if made.new or made.gone else 0


def _libraries(options: argparse.Namespace) -> int:
    """Run the libraries whose names contain what `--only` says; 1 if one of them is not as its list says, or if none can be run."""
    chosen = [library for library in libraries.read() if options.only in library.name]
    results = _results(options, f"{libraries.NAME}-{version('torch')}")
    print(f"verdicts are kept in {results}", flush=True)
    runs = libraries.run(chosen, options.checkout, results, _bounds(options), version("torch"), options.score)
    outcomes = list(runs)
    report = libraries.report(outcomes, version("torch"))
    results.mkdir(parents=True, exist_ok=True)
    (results / "score.md").write_text(report, encoding="utf-8")
    print(report)
    was_run = any(outcome.score is not None for outcome in outcomes)
    return 0 if was_run and not any(outcome.differs for outcome in outcomes) else 1


def _programs(options: argparse.Namespace) -> int:
    """Port, build and run the programs whose names contain what `--only` says."""
    results = _results(options, programs.NAME).resolve()
    print(f"builds and outcomes are kept in {results}", flush=True)
    return programs.run(options.checkout.resolve(), results, _bounds(options), options.only, options.score)


def _trainings(options: argparse.Namespace) -> int:
    """Run the trainings whose names contain what `--only` says, each beside its control."""
    results = _results(options, f"{trainings.NAME}-{version('torch')}").resolve()
    print(f"outputs are kept in {results}", flush=True)
    return trainings.run(options.checkout.resolve(), results, options.seconds, options.only)


def _cases(options: argparse.Namespace) -> int:
    """Run the programs of a folder whose paths contain what `--only` says, on one release of torch_musa."""
    release = options.release or belonging_to(version("torch"))
    results = _results(options, f"{cases.NAME}-{version('torch')}-{release}-{options.mechanism}").resolve()
    print(f"outputs are kept in {results}", flush=True)
    return cases.run(options.checkout.resolve(), results, options.seconds, release, options.mechanism, options.only)


def _results(options: argparse.Namespace, name: str) -> Path:
    return options.results or Path(tempfile.gettempdir()) / "torchada-outside" / name


def _bounds(options: argparse.Namespace) -> running.Bounds:
    return running.Bounds(options.memory, options.seconds, options.sample, options.smallest)


def _suite(options: argparse.Namespace) -> Suite | None:
    """None for the headers, which are no tests."""
    if options.suite == OP_DB:
        return op_db(options.release or RELEASES[0], options.mechanism, options.part, options.only)
    suite = SUITES.get(options.suite)
    return suite.on(options.release) if suite is not None and options.release else suite


def _source(options: argparse.Namespace, checkout: Path) -> str:
    """The version that a list's rows name as their `source`: torch_musa's, where it is chosen, as for the table of operators."""
    return options.release or (RELEASES[0] if options.suite == OP_DB else _version_of(checkout))


def _version_of(checkout: Path) -> str:
    """What a checkout of PyTorch says about itself, "" for any other."""
    file = checkout / "version.txt"
    return file.read_text(encoding="utf-8").strip() if file.is_file() else ""


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m outside", description=__doc__)
    parser.add_argument(
        "suite", choices=[*SUITES, cases.NAME, headers.NAME, OP_DB, libraries.NAME, programs.NAME, trainings.NAME]
    )
    parser.add_argument(
        "checkout",
        type=Path,
        nargs="?",
        help=f"a checkout, or an archive of one; {OP_DB} has none, {libraries.NAME} and {trainings.NAME} a folder of them",
    )
    parser.add_argument("--results", type=Path, help="the folder of the verdicts; one that has some is continued")
    parser.add_argument("--score", action="store_true", help="run nothing, and score the verdicts that are there")
    parser.add_argument(
        "--only",
        default="",
        help=f"files whose path contains this; tests of {OP_DB}; libraries and trainings by name",
    )
    parser.add_argument("--sample", type=int, default=0, metavar="N", help="of each file N tests, evenly spread")
    parser.add_argument(
        "--smallest", type=int, default=0, metavar="N", help="of each test the N with the smallest sizes"
    )
    parser.add_argument(
        "--clang", default="", metavar="COMPILER", help="for `headers`: what is behind the vendor's mcc"
    )
    parser.add_argument("--memory", type=float, default=12, metavar="GiB", help="the most address space of a process")
    parser.add_argument("--seconds", type=float, default=300, help="the longest time without a verdict")
    parser.add_argument(
        "--release",
        default="",
        choices=RELEASES,
        help=f"of torch_musa, which is simulated; without it {RELEASES[0]}, and for {cases.NAME} that which belongs to torch",
    )
    table = parser.add_argument_group(f"{OP_DB} and {cases.NAME}")
    table.add_argument("--mechanism", default="native", choices=("native", "portable"), help="for device strings")
    table.add_argument("--part", default=Part(), type=_part, metavar="I/N", help="the I-th of N parts of the tests")
    options = parser.parse_args()
    if options.checkout is None and options.suite not in (OP_DB, trainings.NAME):
        parser.error(f"the suite {options.suite} needs a checkout")
    options.checkout = options.checkout or HERE
    return options


def _part(text: str) -> Part:
    try:
        return Part.read(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def _unpacked(archive: Path) -> Path:
    folder = Path(tempfile.mkdtemp(prefix="outside-"))
    with tarfile.open(archive) as file:
        file.extractall(folder, filter="data")
    (inside,) = folder.iterdir()
    return inside


if __name__ == "__main__":
    sys.exit(main())
