"""Runs the same unchanged CUDA programs on a machine without an accelerator under torchada and under other systems.

    python -m scripts.comparison.run [--torchdevice PYTHON] [--cuda-morph PYTHON] [--packages FOLDER]
                                     [--rounds N] [--only NAME ...] [--page]

PYTHON is the interpreter of an environment that has that system and the same torch. Each system is switched on as its documentation
says: an import in the first line of the program. Numbers are compared with those of the same program written for the CPU, and times
of the processor are taken in turns. With --page, the tables in docs/reference/other-systems.md are replaced.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import NamedTuple

PROGRAMS = Path(__file__).parent / "programs"
ROOT = Path(__file__).resolve().parent.parent.parent
PAGE = ROOT / "docs" / "reference" / "other-systems.md"
MARKS = ("<!-- made by scripts/comparison -->", "<!-- end -->")
LIMIT = 400  # seconds for one program
# TorchDevice 0.4.2 cannot be imported on a machine without an accelerator, because a name of its own is missing there.
_REPAIR = "import builtins, torch; builtins.t_manual_seed_all = torch.cuda.manual_seed_all\n"


class System(NamedTuple):
    """A way to run a program: `python` runs it, and `first` is put before its first line."""

    title: str
    python: str
    first: str = ""
    environment: tuple[tuple[str, str], ...] = ()
    for_cpu: bool = False


class Run(NamedTuple):
    """What a program has printed, by name, or why it has failed; `took` are seconds of the processor, where it measures them."""

    numbers: dict[str, float]
    error: str = ""
    took: float = 0.0


def systems(options: argparse.Namespace) -> Iterator[System]:
    """The ways to run a program, the one that the others are compared with first."""
    packages = (("PYTHONPATH", options.packages),) if options.packages else ()
    alone = (("TORCHADA_DISABLE", "1"), *packages)
    yield System("for the CPU", sys.executable, "", alone, for_cpu=True)
    yield System("plain torch", sys.executable, "", alone)
    yield System("torchada", sys.executable, "", (("TORCHADA_PLATFORM", "host"), *packages))
    if options.torchdevice:
        quiet = (("TORCHDEVICE_LOG_LEVEL", "ERROR"), *alone)
        yield System("TorchDevice", options.torchdevice, "import TorchDevice\n", quiet)
        yield System("TorchDevice, repaired", options.torchdevice, f"{_REPAIR}import TorchDevice\n", quiet)
    if options.cuda_morph:
        yield System("cuda-morph", options.cuda_morph, "import ascend_compat; ascend_compat.activate()\n", alone)


def written_for_the_cpu(code: str) -> str | None:
    """The program with the CPU in the place of CUDA; None for one that makes no sense there."""
    if re.search(r"torch\.cuda\.(?!is_available|set_device|device_count|synchronize)|is_cuda|get_device", code):
        return None
    code = re.sub(r"torch\.cuda\.set_device\(.*\)\n", "", code)
    code = code.replace(".cuda(", ".cpu(").replace('"nccl"', '"gloo"').replace(".cpu(non_blocking=True)", ".cpu()")
    return re.sub(r'"cuda(:0)?"', '"cpu"', code).replace('torch.device("cpu", 0)', 'torch.device("cpu")')


def run(system: System, program: Path) -> Run | None:
    """Run the program once in a process of its own, or in two that torchrun starts; None where it has no form for the CPU."""
    code: str | None = program.read_text()
    if system.for_cpu:
        code = written_for_the_cpu(str(code))
    if code is None:
        return None
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, program.name)
        path.write_text(system.first + code)
        how = ["-m", "torch.distributed.run", "--nproc-per-node=2"] if "LOCAL_RANK" in code else []
        environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONWARNINGS": "ignore", **dict(system.environment)}
        command = [system.python, *how, str(path)]
        try:
            done = subprocess.run(
                command, cwd=folder, env=environment, capture_output=True, text=True, timeout=LIMIT, check=False
            )
        except subprocess.TimeoutExpired:
            return Run({}, f"no end within {LIMIT} seconds")
    return _understood(done)


def _understood(done: subprocess.CompletedProcess[str]) -> Run:
    numbers = {name: float(value) for name, value in re.findall(r"^([a-z]+) (\S+)$", done.stdout, re.MULTILINE)}
    took = numbers.pop("took", 0.0)
    if done.returncode:
        said = re.findall(r"^(?:\[rank\d\]: )?(\w*(?:Error|Exception)\b.*)$", done.stderr, re.MULTILINE)
        said = [line for line in said if "ChildFailedError" not in line] or [f"exit code {done.returncode}"]
        return Run({}, said[-1][:160], took)
    return Run(numbers, "" if numbers else "it prints nothing", took)


def verdict(actual: Run, expected: Run | None) -> str:
    """ "right", the numbers that are wrong, or the error."""
    if actual.error:
        return f"`{actual.error.replace('|', chr(92) + '|').replace('`', chr(39))}`"
    for name, value in (expected.numbers if expected and not expected.error else {}).items():
        if (
            abs(actual.numbers.get(name, float("nan")) - value) > 1e-4 * max(1.0, abs(value))
            or name not in actual.numbers
        ):
            return f"wrong: {name} is {actual.numbers.get(name)} and not {value}"
    return "right"


class Row(NamedTuple):
    """A program: what it does, the verdict by system, and the ratio of its time to the CPU's program."""

    name: str
    about: str
    verdicts: dict[str, str]
    ratios: dict[str, float]


def row(program: Path, ways: list[System], rounds: int) -> Row:
    """Run the program in every way, in turns where it measures its time."""
    about = program.read_text().split('"""')[1].strip()
    runs: dict[str, list[Run]] = {}
    for number in range(rounds):
        for system in ways:
            earlier = runs.get(system.title)
            if earlier is not None and (earlier[0].error or not earlier[0].took):
                continue  # once is enough
            result = run(system, program)
            if result is not None:
                runs.setdefault(system.title, []).append(result)
                print(program.stem, number, system.title, result, file=sys.stderr, flush=True)
    cpu = runs.get("for the CPU")
    expected = cpu[0] if cpu else None
    verdicts = {title: verdict(repeats[0], expected) for title, repeats in runs.items() if title != "for the CPU"}
    ratios = {
        title: median(mine.took / theirs.took for mine, theirs in zip(repeats, cpu or (), strict=False))
        for title, repeats in runs.items()
        if cpu and cpu[0].took and repeats[0].took and verdicts.get(title) == "right"
    }
    return Row(program.stem, about, verdicts, ratios)


def table(rows: list[Row], ways: list[System]) -> str:
    """The rows as Markdown: one table of verdicts, the errors below it, and the ratios."""
    titles = [way.title for way in ways if not way.for_cpu]
    lines = [f"| program | {' | '.join(titles)} |", "|---" * (len(titles) + 1) + "|"]
    notes: dict[str, int] = {}
    for row in rows:
        cells = [_cell(row, title, notes) for title in titles]
        lines.append(f"| `{row.name}` | {' | '.join(cells)} |")
    lines += ["| number of right ones | " + " | ".join(_counts(rows, titles)) + " |"]
    abouts = [f"- `{row.name}`: {' '.join(row.about.split())}" for row in rows]
    errors = [f"{number}. {text}" for text, number in notes.items()]
    return "\n".join([*lines, "", *errors, "", *abouts])


def _counts(rows: list[Row], titles: list[str]) -> list[str]:
    return [f"{sum(row.verdicts[title] == 'right' for row in rows)} of {len(rows)}" for title in titles]


def _cell(row: Row, title: str, notes: dict[str, int]) -> str:
    said = row.verdicts[title]
    if said == "right":
        ratio = row.ratios.get(title)
        return f"right, {ratio:.2f}" if ratio else "right"
    number = notes.setdefault(said, len(notes) + 1)
    return f"{'wrong' if said.startswith('wrong') else 'fails'} ({number})"


def main(arguments: list[str] | None = None) -> None:
    """Run, print the table, and put it into the page where that is asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--torchdevice", metavar="PYTHON")
    parser.add_argument("--cuda-morph", metavar="PYTHON")
    parser.add_argument("--packages", metavar="FOLDER", help="transformers, for the language model")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", action="append", metavar="NAME")
    parser.add_argument("--page", action="store_true")
    options = parser.parse_args(arguments)
    ways = list(systems(options))
    programs = [
        program for program in sorted(PROGRAMS.glob("*.py")) if not options.only or program.stem in options.only
    ]
    text = table([row(program, ways, options.rounds) for program in programs], ways)
    print(text)
    if options.page:
        before, _, rest = PAGE.read_text().partition(MARKS[0])
        PAGE.write_text(f"{before}{MARKS[0]}\n\n{text}\n\n{MARKS[1]}{rest.partition(MARKS[1])[2]}")


if __name__ == "__main__":
    main()
