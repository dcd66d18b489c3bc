"""`python -m outside SUITE CHECKOUT [options]`, from the folder `tests`."""

from __future__ import annotations

import argparse
import sys
import tarfile
import tempfile
from collections.abc import Iterable
from importlib.metadata import version
from pathlib import Path

from outside import headers, running, scoring
from outside.suites import HERE, SUITES


def main() -> int:
    """Run a suite and compare; 1 if something fails that is not on the list, or otherwise than the list says."""
    options = _parse()
    checkout = _unpacked(options.checkout) if options.checkout.is_file() else options.checkout.resolve()
    torch = version("torch")
    results = options.results or Path(tempfile.gettempdir()) / "torchada-outside" / f"{options.suite}-{torch}"
    bounds = running.Bounds(options.memory, options.seconds, options.sample, options.smallest)
    print(f"verdicts are kept in {results}", flush=True)
    verdicts = running.recorded(results) if options.score else []
    if options.score:
        runs: Iterable[tuple[Path, list[running.Verdict]]] = ()
    elif options.suite == headers.NAME:
        runs, verdicts = headers.run(checkout, results, options.only, options.clang), running.recorded(results)
    else:
        runs = running.run(SUITES[options.suite], checkout, results, bounds, options.only)
    for path, found in runs:
        failed = sum(each.verdict == "failed" for each in found)
        print(f"{path.name}: {len(found)} tests, {failed} failed", flush=True)
        verdicts += found
    kept = HERE / "kept" / f"{_list_of(options.suite)}.toml"
    made = scoring.score(verdicts, scoring.read(kept, torch, _version_of(checkout)))
    report = f"{scoring.HEADER}\n{scoring.table(options.suite, torch, made)}\n"
    (results / "score.md").write_text(report, encoding="utf-8")
    print(report)
    for verdict in made.new:
        print(f"not on the list: {verdict.test}: {verdict.error}")
    for row in made.gone:
        print(f"on the list, but does not fail (that way): {row.tests}: {row.why}")
    return 1 if made.new or made.gone else 0


def _list_of(suite: str) -> str:
    return (suite in SUITES and SUITES[suite].kept) or suite


def _version_of(checkout: Path) -> str:
    """What a checkout of PyTorch says about itself, "" for any other."""
    file = checkout / "version.txt"
    return file.read_text(encoding="utf-8").strip() if file.is_file() else ""


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m outside", description=__doc__)
    parser.add_argument("suite", choices=[*SUITES, headers.NAME])
    parser.add_argument("checkout", type=Path, help="a checkout, or an archive of one")
    parser.add_argument("--results", type=Path, help="the folder of the verdicts; one that has some is continued")
    parser.add_argument("--score", action="store_true", help="run nothing, and score the verdicts that are there")
    parser.add_argument("--only", default="", help="files whose path contains this")
    parser.add_argument("--sample", type=int, default=0, metavar="N", help="of each file N tests, evenly spread")
    parser.add_argument(
        "--smallest", type=int, default=0, metavar="N", help="of each test the N with the smallest sizes"
    )
    parser.add_argument(
        "--clang", default="", metavar="COMPILER", help="for `headers`: what is behind the vendor's mcc"
    )
    parser.add_argument("--memory", type=float, default=12, metavar="GiB", help="the most address space of a process")
    parser.add_argument("--seconds", type=float, default=300, help="the longest time without a verdict")
    return parser.parse_args()


def _unpacked(archive: Path) -> Path:
    folder = Path(tempfile.mkdtemp(prefix="outside-"))
    with tarfile.open(archive) as file:
        file.extractall(folder, filter="data")
    (inside,) = folder.iterdir()
    return inside


if __name__ == "__main__":
    sys.exit(main())
