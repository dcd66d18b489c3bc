"""What it costs to ask where a program runs: `torch.cuda.is_available()`, and the type and the text of a device.

Two modules ask, one that knows CUDA alone and one that knows MUSA. `is_available()` is compared with `torch.musa.is_available()`,
and questions to a device with the same ones while torchada is disabled, in the same process. All take turns, round after round, so
that other load affects all alike. Times are processor time without the loop around the question, the minimum over the rounds; a
ratio is the median of the rounds' ratios.

    python benchmarks/questions.py [--rounds N] [--save]
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path
from statistics import median

import record
from overhead import BATCH_NS, CHECKOUT, Worker, is_simulated
from worker import Plan

MECHANISMS = {"native": "1", "portable": "0"}
AVAILABLE, UNPATCHED_AVAILABLE = "torch.cuda.is_available()", "torch.musa.is_available()"
QUESTIONS = (AVAILABLE, "device.type", "str(device)", "repr(device)", "f'{device}'")
LOOP = "pass"
ASKERS = {"knows CUDA alone": "import torch\n", "knows MUSA": "import torch\nimport torch_musa\n"}
SETUP = """
import time, timeit, types
import torch, torchada

def module(path, text):
    made = types.ModuleType(path.rpartition("/")[2].removesuffix(".py"))
    made.__file__ = path
    with open(path, "w") as file:
        file.write(text)
    exec(compile(text, path, "exec"), vars(made))
    made.device = torch.device("musa:0")
    return vars(made)

def ask(who, question, number):
    return timeit.timeit(question, timer=time.process_time, number=number, globals=modules[who]) / number * 1e9

modules = {{who: module({folder!r} + "/" + name + ".py", text) for name, (who, text) in {askers!r}.items()}}
"""

Times = dict[str, list[float]]


class Askers:
    """A process with both modules."""

    def __init__(self, worker: Worker) -> None:
        self._worker = worker
        self._numbers: dict[str, int] = {}

    def ask(self, who: str, question: str) -> float:
        """Nanoseconds of one question."""
        if question not in self._numbers:
            self._numbers[question] = max(1, int(BATCH_NS / self._time(who, question, 2000)))
        self._time(who, question, 100)  # switching torchada on or off leaves caches cold
        return self._time(who, question, self._numbers[question])

    def _time(self, who: str, question: str, number: int) -> float:
        return float(self._worker.value(f"ask({who!r}, {question!r}, {number})"))

    def switch(self, on: bool) -> None:
        self._worker.value(f"torchada.{'enable' if on else 'disable'}()")


def measure(askers: Askers, rounds: int) -> dict[str, dict[str, Times]]:
    """Nanoseconds by who asks and by question, with torchada and without, one for each round."""
    times: dict[str, dict[str, Times]] = {
        who: {question: {"torchada": [], "unpatched": []} for question in QUESTIONS} for who in ASKERS
    }
    for _ in range(rounds):
        loop = askers.ask(next(iter(ASKERS)), LOOP)
        for who, questions in times.items():
            for question, sides in questions.items():
                sides["torchada"].append(askers.ask(who, question) - loop)
            questions[AVAILABLE]["unpatched"].append(askers.ask(who, UNPATCHED_AVAILABLE) - loop)
        askers.switch(on=False)
        for who, questions in times.items():
            for question in QUESTIONS[1:]:
                questions[question]["unpatched"].append(askers.ask(who, question) - loop)
        askers.switch(on=True)
    return times


def summary(times: Times) -> dict[str, float]:
    """The shortest times, and the ratio of ours to the other."""
    ratios = [ours / theirs for ours, theirs in zip(times["torchada"], times["unpatched"])]
    return {**{name: round(min(values), 1) for name, values in times.items()}, "ratio": round(median(ratios), 3)}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=20, help="rounds (default 20)")
    parser.add_argument("--save", action="store_true", help=f"append the results to {record.HISTORY.name}")
    options = parser.parse_args()
    record.stay_on_one_core()
    results: dict[str, dict[str, dict[str, dict[str, float]]]] = {}
    try:
        for mechanism, native in MECHANISMS.items():
            with tempfile.TemporaryDirectory() as folder:
                named = {f"asker{number}": asker for number, asker in enumerate(ASKERS.items())}
                setup = SETUP.format(folder=folder, askers=named)
                plan = Plan("torchada", [str(CHECKOUT), *sys.path], simulated=is_simulated(), setup=setup)
                worker = Worker(plan, Path(folder), {"TORCHADA_NATIVE": native})
                times = measure(Askers(worker), options.rounds)
                versions = worker.versions
                worker.close()
            results[mechanism] = {
                who: {q: summary(sides) for q, sides in questions.items()} for who, questions in times.items()
            }
            show(mechanism, results[mechanism])
    except RuntimeError as error:
        print(f"questions.py: {error}", file=sys.stderr)
        return 1
    if options.save:
        record.append("questions", versions, {"rounds": options.rounds, "mechanisms": results})
    return 0


def show(mechanism: str, results: dict[str, dict[str, dict[str, float]]]) -> None:
    """One line for each question of each module."""
    for who, questions in results.items():
        for question, figures in questions.items():
            numbers = (
                f"{figures['torchada']:8.1f} ns, unpatched {figures['unpatched']:8.1f} ns, ratio {figures['ratio']:.2f}"
            )
            print(f"{mechanism:8} {who:16} {question:26} {numbers}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
