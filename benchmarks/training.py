"""What a whole training step costs under torchada: a small transformer written for CUDA, by both mechanisms, against the same
program written for MUSA in a process that nobody redirects, on the same torch_musa (the simulator where there is no real one).

Each stands in a process of its own and trains the same model on the same data; they are asked for some steps in turn, round after
round. Times are processor time, the minimum over the rounds; ratios are the median of each round's. The program written for MUSA
runs in two processes: what they differ by is noise. Processes differ by some per cent in where their memory happens to lie, so all
are started several times. All must have seen the same losses in the end.

    python benchmarks/training.py [--starts N] [--rounds N] [--steps N] [--backend inductor] [--save]
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from statistics import median

import record
from overhead import CHECKOUT, Worker, is_simulated
from transformer import PROGRAM
from worker import Plan

MUSA, CONTROL = "musa code", "musa code, again"
MECHANISMS = {"native": "1", "portable": "0"}


@contextmanager
def workers(backend: str | None) -> Iterator[dict[str, Worker]]:
    """The processes, ready to be asked for `step()`. Raises RuntimeError with the last words of one that fails."""
    cuda = f"BACKEND = {backend!r}\n{PROGRAM}"
    with ExitStack() as stack:
        scratch = Path(stack.enter_context(tempfile.TemporaryDirectory()))

        def start(kind: str, program: str, variables: dict[str, str]) -> Worker:
            plan = Plan(kind, [str(CHECKOUT), *sys.path], simulated=is_simulated(), setup=program)
            worker = Worker(plan, scratch, variables)
            stack.callback(worker.close)
            return worker

        started = {name: start("torchada", cuda, {"TORCHADA_NATIVE": value}) for name, value in MECHANISMS.items()}
        for name in (MUSA, CONTROL):
            started[name] = start("native", cuda.replace("cuda", "musa"), {})
        for name in MECHANISMS:
            if started[name].versions["device strings"] != name:
                raise RuntimeError(f"the {name} mechanism cannot be had in this process")
        yield started


def measure(started: dict[str, Worker], rounds: int, steps: int, times: dict[str, list[float]]) -> None:
    """Add the nanoseconds of a step to `times`, per process and round. Raises RuntimeError where the losses differ."""
    for worker in started.values():
        worker.batch("step()", 3)  # warm; what is compiled is compiled here
    for turn in range(rounds):
        # Each in its turn after another one: who runs twice on end finds its memory in the caches.
        first = turn % len(started)
        for name in [*started][first:] + [*started][:first]:
            times[name].append(started[name].batch("step()", steps))
    if not same_losses(started):
        raise RuntimeError("the processes did not train alike: their losses differ")


def same_losses(started: dict[str, Worker]) -> bool:
    """Whether all have trained alike: the same program on the same device gives the same numbers."""
    return len({worker.value("losses") for worker in started.values()}) == 1


def summary(times: dict[str, list[float]]) -> dict[str, dict[str, float]]:
    """Milliseconds of a step, and how many times as long as MUSA code each takes."""
    return {
        name: {
            "ms": round(min(values) / 1e6, 3),
            "ratio": round(median(ours / theirs for ours, theirs in zip(values, times[MUSA])), 4),
        }
        for name, values in times.items()
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--starts", type=int, default=8, help="how often the processes are started (default 8)")
    parser.add_argument("--rounds", type=int, default=15, help="rounds per start (default 15)")
    parser.add_argument("--steps", type=int, default=3, help="steps per round (default 3)")
    parser.add_argument("--backend", help="torch.compile's backend (default: not compiled)")
    parser.add_argument("--save", action="store_true", help=f"append the results to {record.HISTORY.name}")
    options = parser.parse_args()
    record.stay_on_one_core()
    how = f"compiled by {options.backend}" if options.backend else "eager"
    times: dict[str, list[float]] = {name: [] for name in (*MECHANISMS, MUSA, CONTROL)}
    try:
        for _ in range(options.starts):
            with workers(options.backend) as started:
                versions = started["native"].versions
                measure(started, options.rounds, options.steps, times)
    except RuntimeError as error:
        print(f"training.py: {error}", file=sys.stderr)
        return 1
    results = summary(times)
    for name, found in results.items():
        print(f"{how}, {name:16} {found['ms']:9.2f} ms per step, {found['ratio']:.3f} of {MUSA}")
    if options.save:
        how_many = {
            "starts": options.starts,
            "rounds": options.rounds,
            "steps": options.steps,
            "backend": options.backend,
        }
        record.append("training", versions, {**how_many, "processes": results})
    return 0


if __name__ == "__main__":
    sys.exit(main())
