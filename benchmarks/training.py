"""What a whole training step costs under torchada: a small transformer written for CUDA against the same program written for MUSA,
on the same torch_musa (the simulator where there is no real one).

Processes differ by some per cent because of where their memory lies, which is more than the effect to be measured. So both programs
run in one process per mechanism and train one model, with the same parameters, in turn: torchada is enabled for one and disabled
for the other, which then runs as in a process without redirection. The program that is loaded first lies elsewhere in memory than
the second, so the order alternates over several starts. Times are processor time; a ratio is the geometric mean of the rounds'
ratios, with its standard error. The control is the program written for MUSA a second time: its difference is noise.
`instructions.py` counts what these times cannot distinguish from noise.

    python benchmarks/training.py [--starts N] [--rounds N] [--steps N] [--backend inductor] [--save]
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from math import exp, log, sqrt
from pathlib import Path
from statistics import mean, median, stdev

import record
from overhead import CHECKOUT, Worker, is_simulated
from transformer import PROGRAM
from worker import Plan

OURS, MUSA, CONTROL = "torchada", "musa code", "musa code, again"
MECHANISMS = {"native": "1", "portable": "0"}
# torchada is enabled or disabled just before each measurement, always by a change, because a change leaves caches cold.
SWITCH = {
    OURS: "torchada.disable(); torchada.enable()",
    MUSA: "torchada.enable(); torchada.disable()",
    CONTROL: "torchada.enable(); torchada.disable()",
}
STEP = {OURS: "cuda['step']()", MUSA: "musa['step']()", CONTROL: "musa['step']()"}
ORDERS = (("cuda", "musa"), ("musa", "cuda"))
WARM = 2  # steps after a switch
TOGETHER = """
import torchada

cuda, musa = {}, {}
for name in ORDER:
    (torchada.enable if name == "cuda" else torchada.disable)()
    exec(PROGRAM.replace("cuda", name), globals()[name])
for ours, theirs in zip(cuda["model"].modules(), musa["model"].modules()):
    theirs._parameters = ours._parameters
for name in ("optimizer", "scaler", "data", "losses"):
    musa[name] = cuda[name]
torchada.enable()
"""

Times = dict[str, list[float]]


@contextmanager
def worker(mechanism: str, backend: str | None, order: tuple[str, str]) -> Iterator[Worker]:
    """A process with both programs. Raises RuntimeError with its last output, or where the mechanism is not available."""
    program = f"BACKEND = {backend!r}\n{PROGRAM}"
    setup = f"PROGRAM, ORDER = {program!r}, {order!r}\n{TOGETHER}"
    plan = Plan("torchada", [str(CHECKOUT), *sys.path], simulated=is_simulated(), setup=setup)
    with tempfile.TemporaryDirectory() as scratch:
        started = Worker(plan, Path(scratch), {"TORCHADA_NATIVE": MECHANISMS[mechanism]})
        try:
            if started.versions["device strings"] != mechanism:
                raise RuntimeError(f"the {mechanism} mechanism is not available in this process")
            yield started
        finally:
            started.close()


def measure(started: Worker, rounds: int, steps: int, times: Times) -> None:
    """Add the nanoseconds of a step to `times`, per program and round."""
    for turn in range(-1, rounds):  # the first turn is not measured, because it compiles
        first = turn % len(STEP)
        for name in [*STEP][first:] + [*STEP][:first]:
            started.batch(SWITCH[name], 1)
            started.batch(STEP[name], WARM)
            nanoseconds = started.batch(STEP[name], steps)
            if turn >= 0:
                times[name].append(nanoseconds)


def summary(times: Times) -> dict[str, dict[str, float]]:
    """Milliseconds of a step, its ratio to MUSA code, and the ratio's standard error."""
    results = {}
    for name, values in times.items():
        ratios = [log(ours / theirs) for ours, theirs in zip(values, times[MUSA])]
        results[name] = {
            "ms": round(median(values) / 1e6, 3),
            "ratio": round(exp(mean(ratios)), 4),
            "error": round(stdev(ratios) / sqrt(len(ratios)), 4),
        }
    return results


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--starts", type=int, default=4, help="processes per mechanism (default 4)")
    parser.add_argument("--rounds", type=int, default=75, help="rounds per process, at least 2 (default 75)")
    parser.add_argument("--steps", type=int, default=5, help="steps per round (default 5)")
    parser.add_argument("--backend", help="torch.compile's backend (default: not compiled)")
    parser.add_argument("--save", action="store_true", help=f"append the results to {record.HISTORY.name}")
    options = parser.parse_args()
    record.stay_on_one_core()
    how = f"compiled by {options.backend}" if options.backend else "eager"
    results = {}
    try:
        for mechanism in MECHANISMS:
            times: Times = {name: [] for name in STEP}
            for start in range(options.starts):
                with worker(mechanism, options.backend, ORDERS[start % 2]) as started:
                    versions = started.versions
                    measure(started, options.rounds, options.steps, times)
            results[mechanism] = summary(times)
            for name, figures in results[mechanism].items():
                numbers = (
                    f"{figures['ms']:9.2f} ms per step, {figures['ratio']:.3f} of {MUSA} (+- {figures['error']:.3f})"
                )
                print(f"{how}, {mechanism:8} {name:16} {numbers}", flush=True)
    except RuntimeError as error:
        print(f"training.py: {error}", file=sys.stderr)
        return 1
    if options.save:
        how_many = {
            "starts": options.starts,
            "rounds": options.rounds,
            "steps": options.steps,
            "backend": options.backend,
        }
        record.append("training", versions, {**how_many, "mechanisms": results})
    return 0


if __name__ == "__main__":
    sys.exit(main())
