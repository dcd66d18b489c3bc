"""What TORCHADA_LOG costs a call: off, and with `summary`, under the portable mechanism, which recording needs.

Each runs in a process of its own, and they take turns (see overhead.py). With --against, `off` is also measured against the sources
of another revision: for one from before recording existed, the ratio is the cost of its existence.

    python benchmarks/telemetry.py [--rounds N] [--against REVISION] [--save]
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path
from statistics import median

import record
from calls import CALLS, SETUP
from overhead import CHECKOUT, Times, Worker, is_simulated
from worker import Plan

BATCH_NS = 1e6  # shorter than a slice of the scheduler, so that some are undisturbed on a busy machine
OFF, SUMMARY, BEFORE = "off", "summary", "before"
PORTABLE = {"TORCHADA_NATIVE": "0"}
# Nothing of CUDA, a device in the arguments, a method, a property, the backend's own function.
CHOSEN = {"torch.zeros(2)", "torch.zeros(2, device='cpu')", "torch.zeros(2, device='cuda')", "x + x", "x.to('cpu')"}
CHOSEN |= {
    "y.to('cuda')",
    "y.cuda()",
    "y.is_cuda",
    "torch.device('cuda')",
    "torch.cuda.current_device()",
    "net.to('cuda')",
}


def start(stack: ExitStack, folder: Path, source: Path, variables: dict[str, str]) -> Worker:
    """A process that has imported the torchada of `source`; its output at exit is dropped."""
    plan = Plan("torchada", [str(source), *sys.path, str(CHECKOUT)], simulated=is_simulated(), setup=SETUP)
    worker = Worker(plan, folder / "build", variables)
    stack.callback(worker.close)
    return worker


def sources_of(revision: str, folder: Path) -> Path:
    """The sources of a revision, unpacked."""
    folder.mkdir()
    archive = subprocess.run(
        ["git", "archive", revision, "src"], cwd=CHECKOUT.parent, stdout=subprocess.PIPE, check=True
    )
    subprocess.run(["tar", "-x", "-C", str(folder)], input=archive.stdout, check=True)
    return folder / "src"


def measure(statement: str, started: dict[str, Worker], rounds: int) -> Times:
    """Nanoseconds per column and round, in turn forwards and backwards."""
    times: Times = {column: [] for column in started}
    numbers = {}
    for column, worker in started.items():
        worker.batch(statement, 100)  # warm
        numbers[column] = max(1, int(BATCH_NS / worker.batch(statement, 200)))
    for turn in range(rounds):
        for column in list(started)[:: 1 if turn % 2 else -1]:
            times[column].append(started[column].batch(statement, numbers[column]))
    return times


def summary(times: Times) -> dict[str, dict[str, float]]:
    """The shortest time of each column, and their ratios; other load can only make times longer."""
    ratios = {f"{SUMMARY} / {OFF}": (SUMMARY, OFF), f"{OFF} / {BEFORE}": (OFF, BEFORE)}
    return {
        "ns": {column: round(min(values), 1) for column, values in times.items()},
        "ratio": {
            name: round(min(times[one]) / min(times[other]), 3)
            for name, (one, other) in ratios.items()
            if other in times
        },
    }


def table(results: dict[str, dict[str, dict[str, float]]]) -> str:
    """For people: nanoseconds and ratios, and the ratios' medians over the calls."""
    ratios = list(next(iter(results.values()))["ratio"])
    columns = list(next(iter(results.values()))["ns"])
    lines = [f"{'ns per call':32}" + "".join(f"{name:>10}" for name in columns) + "".join(f"{r:>16}" for r in ratios)]
    for call, result in results.items():
        numbers = "".join(f"{result['ns'][name]:>10.1f}" for name in columns)
        lines.append(f"{call:32}{numbers}" + "".join(f"{result['ratio'][name]:>16.3f}" for name in ratios))
    middle = "".join(f"{median(result['ratio'][name] for result in results.values()):>16.3f}" for name in ratios)
    return "\n".join([*lines, f"{'median':32}{'':{10 * len(columns)}}{middle}"])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=150, help="rounds per call (default 150)")
    parser.add_argument(
        "--against", metavar="REVISION", help="measure `off` against another revision of the sources, too"
    )
    parser.add_argument("--save", action="store_true", help=f"append the results to {record.HISTORY.name}")
    options = parser.parse_args()
    record.stay_on_one_core()
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        started = {OFF: start(stack, folder, CHECKOUT, PORTABLE)}
        started[SUMMARY] = start(stack, folder, CHECKOUT, {**PORTABLE, "TORCHADA_LOG": "summary"})
        if options.against:
            started[BEFORE] = start(stack, folder, sources_of(options.against, folder / "before"), PORTABLE)
        calls = [call.cuda for call in CALLS if call.cuda in CHOSEN]
        results = {call: summary(measure(call, started, options.rounds)) for call in calls}
        versions = started[OFF].versions
    print(table(results))
    if options.save:
        record.append("telemetry", versions, {"rounds": options.rounds, "against": options.against, "calls": results})
    return 0


if __name__ == "__main__":
    sys.exit(main())
