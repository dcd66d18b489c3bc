"""`python -m outside trainings CHECKOUTS`: each training on simulated GPUs, and its control on the CPU."""

from __future__ import annotations

import math
import os
import shlex
import shutil
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from outside import bounded
from outside.trainings.table import GIVEN, HERE, Run, Training, read

NAME = "trainings"
#: How far a loss may be from the control's, as a part of it.
TOLERANCE = 1e-5
HEADER = "| training | package | losses | the control's | furthest apart | result |\n|---|---|---|---|---|---|"
#: What a user of this command may say about the redirection; all else is the default.
_KEPT = frozenset({"TORCHADA_NATIVE", "MUSASIM_RELEASE", "TORCHADA_CACHE", "TORCHADA_STRICT"})
_PLAIN = {"TORCHADA_DISABLE": "1", "TORCH_DEVICE_BACKEND_AUTOLOAD": "0"}
_TORCHRUN = ("-m", "torch.distributed.run", "--standalone")


@dataclass(frozen=True)
class Outcome:
    """Of one training: its losses and the control's by step, and why it is not right, or was not run."""

    training: Training
    losses: Mapping[int, list[float]] = field(default_factory=dict)
    control: Mapping[int, list[float]] = field(default_factory=dict)
    why: str = ""
    was_run: bool = True

    @property
    def apart(self) -> float:
        """How far apart the losses are at most, as a part of the control's; infinite where a step or a number is lacking."""
        if not self.control or self.losses.keys() != self.control.keys():
            return math.inf
        pairs = [(ours, wanted) for step in self.losses for ours in self.losses[step] for wanted in self.control[step]]
        distances = [abs(ours - wanted) / abs(wanted) for ours, wanted in pairs]
        return math.inf if any(map(math.isnan, distances)) else max(distances)

    @property
    def is_right(self) -> bool:
        return self.was_run and not self.why and self.apart <= TOLERANCE

    @property
    def row(self) -> str:
        """A row of the table."""
        training = self.training
        start = f"| {training.name} | {training.package} {training.version} |"
        if not self.was_run:
            return f"{start} | | | not run: {self.why} |"
        result = "the same" if self.is_right else self.why or "they differ"
        return f"{start} {_ends(self.losses)} | {_ends(self.control)} | {self.apart:.1e} | {result} |"


def _ends(losses: Mapping[int, list[float]]) -> str:
    """The first loss and the last."""
    steps = sorted(losses)
    return f"{losses[steps[0]][0]:.6g} to {losses[steps[-1]][-1]:.6g} in {len(steps)} steps" if steps else "none"


def run(checkouts: Path, results: Path, seconds: float, only: str = "", table: list[Training] | None = None) -> int:
    """Run the trainings whose names contain `only`; 1 if one is not right, or if none could be run."""
    outcomes = []
    for training in read() if table is None else table:
        if only in training.name:
            outcomes.append(outcome(training, checkouts, results / training.name, seconds))
            print(outcomes[-1].row, flush=True)
    report = "\n".join([HEADER, *(each.row for each in outcomes)])
    results.mkdir(parents=True, exist_ok=True)
    (results / "score.md").write_text(f"{report}\n", encoding="utf-8")
    print(f"\n{report}")
    were_run = [each for each in outcomes if each.was_run]
    return 0 if were_run and all(each.is_right for each in were_run) else 1


def outcome(training: Training, checkouts: Path, results: Path, seconds: float) -> Outcome:
    """Of one training, in folders of its own below `results`."""
    why = training.missing(checkouts)
    if why:
        return Outcome(training, why=why, was_run=False)
    sides = {}
    for side, runs in (("device", training.runs), ("control", training.control)):
        folder = _emptied(results / side)
        output, failure = _all(training, runs, checkouts, folder, seconds, plain=side == "control")
        sides[side] = training.losses(output)
        why = why or (failure and f"{side}: {failure}")
    return Outcome(training, sides["device"], sides["control"], why)


def _emptied(folder: Path) -> Path:
    """A training goes on from the checkpoints that it finds, so those of an earlier run have to go."""
    if folder.exists():
        shutil.rmtree(folder)
    folder.mkdir(parents=True)
    return folder


def _all(
    training: Training, runs: tuple[Run, ...], checkouts: Path, folder: Path, seconds: float, plain: bool
) -> tuple[str, str]:
    """The output of one run after the other, up to the first that fails, and how it failed. Each output is kept in a file."""
    outputs = []
    for number, run in enumerate(runs):
        env = environment(training, plain or run.plain)
        code, text = bounded.run(_command(training, run, checkouts, folder), folder, env, seconds)
        (folder / f"{number}.log").write_text(text, encoding="utf-8")
        outputs.append(text)
        if code != 0:
            how = "no end in time" if code is None else f"exit code {code}"
            return "\n".join(outputs), f"{how}, see {folder / f'{number}.log'}"
    return "\n".join(outputs), ""


def environment(training: Training, plain: bool) -> dict[str, str]:
    """That of a user on a machine with GPUs, which are simulated, or of one without where `plain`."""
    ours = ("TORCHADA_", "MUSASIM_", "MUSA_", "CUDA_")
    clean = {name: value for name, value in os.environ.items() if not name.startswith(ours) or name in _KEPT}
    paths = [str(GIVEN), *filter(None, [os.environ.get("PYTHONPATH", "")])]
    gpus = _PLAIN if plain else {"TORCHADA_SIMULATE": "1", "MUSASIM_DEVICE_COUNT": str(training.devices)}
    return {**clean, "OMP_NUM_THREADS": "1", "PYTHONPATH": os.pathsep.join(paths), **gpus, **training.env}


def _command(training: Training, run: Run, checkouts: Path, folder: Path) -> list[str]:
    places = {
        "checkout": str(training.checkout(checkouts)),
        "given": str(GIVEN),
        "here": str(HERE),
        "work": str(folder),
    }
    words = [_placed(word, places) for word in shlex.split(run.words)]
    start = [*_TORCHRUN, f"--nproc-per-node={run.ranks}"] if run.ranks else []
    return [sys.executable, *start, *words]


def _placed(word: str, places: Mapping[str, str]) -> str:
    for name, place in places.items():
        word = word.replace(f"{{{name}}}", place)
    return word
