"""What a call costs under torchada: against the same call in a torch without redirection, against native MUSA code, and against
torchada 0.1.103, on the same torch_musa (the simulator where there is no real one).

Each runs in a process of its own. They take turns at a short batch of the same call, round after round, so that other load on the
machine affects all alike. Times are processor time, the minimum over the rounds; a ratio is the median of the rounds' ratios.

    python benchmarks/overhead.py [--rounds N] [--save] [--markdown]
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict
from importlib.machinery import PathFinder
from pathlib import Path
from statistics import median

import record
from calls import CALLS, SETUP, Call
from worker import Plan

OLD = "0.1.103"
OURS, PLAIN, NATIVE = "torchada", "unpatched", "native"
CHECKOUT = Path(__file__).resolve().parent.parent / "src"  # measured in preference to anything installed
BATCH_NS = 4e6  # long enough for the clock, short enough to be undisturbed


class CallError(RuntimeError):
    """A statement that raised in a worker; `exception` is the name of what it raised."""

    def __init__(self, statement: str, words: str) -> None:
        super().__init__(f"{statement}: {words}")
        self.exception = words.partition(":")[0]


class Worker:
    """The coordinator's end of one process."""

    def __init__(
        self, plan: Plan, scratch: Path, variables: dict[str, str] | None = None, under: Sequence[str] = ()
    ) -> None:
        """Start the process, `under` another program if one is given, and load what the plan names. Raises RuntimeError."""
        environment = {k: v for k, v in os.environ.items() if k == "TORCHADA_NATIVE" or not k.startswith("TORCHADA_")}
        environment.update(variables or {})
        # 0.1.103 compiles at import; its runs must not meet each other, or a lock left behind by an earlier one.
        environment["TORCH_EXTENSIONS_DIR"] = str(scratch)
        command = [*under, sys.executable, "-S", str(Path(__file__).with_name("worker.py"))]
        self._process = subprocess.Popen(
            command, env=environment, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        self.versions: dict[str, str] = self._ask(asdict(plan))

    def batch(self, statement: str, number: int) -> float:
        """Nanoseconds of one repetition of `statement`. Raises CallError with what it raises."""
        answer = self._ask([statement, number])
        if "error" in answer:
            raise CallError(statement, answer["error"])
        return float(answer["ns"])

    def value(self, expression: str) -> str:
        """The repr of `expression` in that process. Raises CallError with what it raises."""
        answer = self._ask([expression])
        if "error" in answer:
            raise CallError(expression, answer["error"])
        return answer["value"]

    def _ask(self, question: object) -> dict[str, str]:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            self._process.stdin.write(json.dumps(question) + "\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            pass  # its last output follows
        line = self._process.stdout.readline()
        if not line:
            _, words = self._process.communicate()
            raise RuntimeError("\n".join(words.strip().splitlines()[-3:]) or "the worker ended without any output")
        answer: dict[str, str] = json.loads(line)
        return answer

    def finish(self) -> None:
        """Let it end by itself."""
        self._process.communicate()

    def close(self) -> None:
        self._process.kill()
        self._process.communicate()


@contextmanager
def workers() -> Iterator[dict[str, Worker]]:
    """The processes by kind; without 0.1.103, with a line on stderr, where it cannot be fetched."""
    with ExitStack() as stack:
        scratch = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        started: dict[str, Worker] = {}
        for kind in (OURS, NATIVE, OLD):
            try:
                folder = _install_old(scratch / "old") if kind == OLD else CHECKOUT
                plan = Plan(kind, [str(folder), *sys.path, str(CHECKOUT)], simulated=is_simulated(), setup=SETUP)
                started[kind] = Worker(plan, scratch / "build")
            except RuntimeError as error:
                if kind != OLD:
                    raise
                print(f"torchada {OLD} is left out: {error}", file=sys.stderr)
            else:
                stack.callback(started[kind].close)
        yield started


def is_simulated() -> bool:
    """Whether the simulator has to stand in for torch_musa."""
    return PathFinder.find_spec("torch_musa") is None


def _install_old(folder: Path) -> Path:
    """Fetch torchada 0.1.103 into `folder`, which then hides the torchada of this tree by being first on sys.path."""
    options = ["--quiet", "--no-deps", "--disable-pip-version-check", "--target", str(folder)]
    done = subprocess.run(
        [sys.executable, "-m", "pip", "install", *options, f"torchada=={OLD}"], capture_output=True, text=True
    )
    if done.returncode != 0:
        raise RuntimeError((done.stderr.strip().splitlines() or ["pip failed"])[-1])
    return folder


Times = dict[str, list[float]]


def measure(call: Call, started: dict[str, Worker], rounds: int) -> Times:
    """Nanoseconds per column and round."""
    asked = {OURS: (started[OURS], call.cuda), NATIVE: (started[NATIVE], call.native)}
    if call.plain:
        asked[PLAIN] = (started[NATIVE], call.cuda)
    if OLD in started:
        asked[OLD] = (started[OLD], call.cuda)
    times: Times = {column: [] for column in asked}
    numbers = {column: _repetitions(*pair) for column, pair in asked.items()}
    for turn in range(rounds):
        # Forwards and backwards in turn, so that no process always comes first.
        for column in list(asked)[:: 1 if turn % 2 else -1]:
            worker, statement = asked[column]
            times[column].append(worker.batch(statement, numbers[column]))
    return times


def _repetitions(worker: Worker, statement: str) -> int:
    worker.batch(statement, 100)  # warm
    return max(1, int(BATCH_NS / worker.batch(statement, 200)))


def ratio(times: Times, other: str) -> float | None:
    """Our time divided by that of `other`: the median of the rounds."""
    if other not in times:
        return None
    return median(ours / theirs for ours, theirs in zip(times[OURS], times[other]))


def summary(times: Times) -> dict[str, dict[str, float]]:
    """The summary for the table and the history."""
    against = {other: ratio(times, other) for other in (PLAIN, NATIVE, OLD)}
    return {
        "ns": {column: round(min(values), 1) for column, values in times.items()},
        "ratio": {other: round(value, 3) for other, value in against.items() if value is not None},
    }


def table(results: dict[str, dict[str, dict[str, float]]]) -> str:
    """The results for people: nanoseconds, and our time divided by the other's."""
    columns = (OURS, PLAIN, NATIVE, OLD)
    head = "".join(f"{name:>11}" for name in columns) + "".join(f"{'/ ' + name:>13}" for name in columns[1:])
    lines = [f"{'ns per call':54}{head}"]
    for call, result in results.items():
        times = "".join(f"{_number(result['ns'].get(column), 1):>11}" for column in columns)
        ratios = "".join(f"{_number(result['ratio'].get(column), 2):>13}" for column in columns[1:])
        lines.append(f"{call:54}{times}{ratios}")
    return "\n".join(lines)


def markdown(results: dict[str, dict[str, dict[str, float]]]) -> str:
    """The rows of the table in docs/reference/benchmarks.md: call, ours, 0.1.103's and the ratio, native code's and the ratio."""
    lines = []
    for call, result in results.items():
        cells = [_number(result["ns"].get(OURS), 0)]
        for other in (OLD, NATIVE):
            cells += [_number(result["ns"].get(other), 0), _number(result["ratio"].get(other), 2)]
        lines.append(f"| `{call}` | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _number(value: float | None, digits: int) -> str:
    return "-" if value is None else f"{value:.{digits}f}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=40, help="rounds per call (default 40)")
    parser.add_argument("--save", action="store_true", help=f"append the results to {record.HISTORY.name}")
    parser.add_argument(
        "--markdown", action="store_true", help="print the rows of the table in docs/reference/benchmarks.md instead"
    )
    options = parser.parse_args()
    record.stay_on_one_core()
    try:
        with workers() as started:
            versions = {**started[NATIVE].versions, **started[OURS].versions}
            print(", ".join(f"{name} {number}" for name, number in versions.items()), flush=True)
            results = {call.cuda: summary(measure(call, started, options.rounds)) for call in CALLS}
    except RuntimeError as error:
        print(f"overhead.py: {error}", file=sys.stderr)
        return 1
    print(markdown(results) if options.markdown else table(results))
    if options.save:
        record.append("overhead", versions, {"rounds": options.rounds, "calls": results})
    return 0


if __name__ == "__main__":
    sys.exit(main())
