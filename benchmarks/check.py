"""How long `torchada check` takes for 100,000 lines of Python, by the clock and by processor time.

    python benchmarks/check.py FOLDER... [--rounds N]

FOLDERs are projects, or installed packages. Each is checked whole, in this process; the figures are seconds for 100,000 lines, the
median of the rounds, with the slowest. The target is 10 seconds.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from statistics import median

CHECKOUT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(CHECKOUT / "src"))

from torchada.tools.check import check  # noqa: E402

LINES = 100_000
TARGET = 10.0


def measured(folder: str, rounds: int) -> tuple[int, int, list[float], list[float]]:
    """Lines, findings, and for each round seconds by the clock and of the processor."""
    clock, processor = [], []
    for _ in range(rounds):
        started, worked = time.perf_counter(), time.process_time()
        result = check([folder])
        clock.append(time.perf_counter() - started)
        processor.append(time.process_time() - worked)
    return result.lines, len(result.findings), clock, processor


def main() -> None:
    """Print one row for each folder."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+", metavar="FOLDER")
    parser.add_argument("--rounds", type=int, default=3, metavar="N")
    options = parser.parse_args()
    print(f"{'project':<32}{'lines':>11}{'findings':>10}{'s / 100,000 lines':>20}{'slowest':>10}{'processor':>11}")
    for folder in options.folders:
        lines, findings, clock, processor = measured(folder, options.rounds)
        scale = LINES / max(lines, 1)
        print(
            f"{Path(folder).name:<32}{lines:>11,}{findings:>10,}{median(clock) * scale:>20.2f}"
            f"{max(clock) * scale:>10.2f}{median(processor) * scale:>11.2f}"
        )
    print(f"target: {TARGET:g} s for 100,000 lines")


if __name__ == "__main__":
    main()
