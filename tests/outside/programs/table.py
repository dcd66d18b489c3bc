"""The programs of a checkout: where each lies, how it is built and run, and what says that its results are right."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

try:
    import tomllib
except ImportError:  # Python 3.10
    import tomli as tomllib

HERE = Path(__file__).resolve().parent
#: What programs print when their results are right, and when they are not.
RIGHT = (
    r"(?i)\bPASS(?:ED|ES)?\b|\bsuccess(?:ful|fully)?\b|\bverified\b|\bno errors?\b"
    r"|\b(?:results?|outputs?|verification|validation|test|check)\b.{0,40}\b(?:correct|match(?:es)?|identical|ok|valid)\b"
)
WRONG = (
    r"(?i)\bFAIL(?:ED|S|URE)?\b|\bmis-?match(?:es)?\b(?!\W*(?:es|count)?\W*0\b)|\bincorrect\b|\bdo(?:es)? not match\b"
)
_LARGEST = 2048
NAMES = ("hecbench", "rodinia")


@dataclass(frozen=True)
class Command:
    """What is built and run in one folder of the checkout, and the files that it writes; without one, its output is on stdout.

    `{cuda}` stands for the toolkit's folder, `{here}` for this one, `{python}` for Python.
    """

    folder: str
    build: tuple[str, ...]
    run: str
    output: tuple[str, ...] = ()


@dataclass(frozen=True)
class Check:
    """What makes a result right: a message, or the numbers of another version of the program, of the lines that match `lines`."""

    right: str = RIGHT
    wrong: str = WRONG
    reference: Command | None = None
    lines: str = ""
    tolerance: float = 0.0


@dataclass(frozen=True)
class Program:
    """One program. `inputs` are generators of `inputs.py`; `lacks` says which file is not in the checkout."""

    name: str
    command: Command
    check: Check = Check()
    inputs: tuple[str, ...] = ()
    lacks: str = ""


@dataclass(frozen=True)
class Suite:
    """A suite that a checkout was recognised as. `kept` is its list of failures."""

    name: str
    programs: tuple[Program, ...]

    @property
    def kept(self) -> Path:
        return HERE.parent / "kept" / f"{kept(self.name)}.toml"


def kept(suite: str) -> str:
    """What the list of a suite's failures is called."""
    return f"programs-{suite}"


def read(checkout: Path) -> Suite:
    """The suite that lies in `checkout`, which is told by its folders."""
    if (checkout / "cuda").is_dir() and (checkout / "openmp").is_dir():
        return Suite("rodinia", tuple(_rows(HERE / "rodinia.toml")))
    programs = tuple(_of_makefiles(checkout))
    if not programs:
        raise SystemExit(
            f"{checkout}: expected Rodinia's folders cuda and openmp, or HeCBench's src/NAME-cuda/Makefile"
        )
    return Suite("hecbench", programs)


def _rows(path: Path) -> Iterator[Program]:
    for name, row in tomllib.loads(path.read_text(encoding="utf-8")).items():
        yield _program(name, row)


def _program(name: str, row: dict[str, Any]) -> Program:
    command = _command(row, f"cuda/{name}")
    reference = _command(row["reference"], f"openmp/{name}") if "reference" in row else None
    said = {key: row[key] for key in ("right", "wrong", "lines", "tolerance") if key in row}
    check = Check(reference=reference, **said)
    return Program(name, command, check, tuple(row.get("inputs", ())), row.get("lacks", ""))


def _command(row: dict[str, Any], folder: str) -> Command:
    return Command(row.get("folder", folder), tuple(row["build"]), row["run"], tuple(row.get("output", ())))


def _of_makefiles(checkout: Path) -> Iterator[Program]:
    """HeCBench's programs. Each Makefile says how its program is run; numbers are cut down for a simulator."""
    rows = tomllib.loads((HERE / "hecbench.toml").read_text(encoding="utf-8"))
    for makefile in sorted(checkout.glob("src/*-cuda/Makefile")):
        folder, name = makefile.parent, makefile.parent.name.removesuffix("-cuda")
        row, text = rows.get(name, {}), makefile.read_text(encoding="utf-8", errors="replace")
        run = row.get("run") or " ".join([_program_of(text), smaller(_arguments(text))])
        command = Command(str(folder.relative_to(checkout)), ("make CC=nvcc ARCH=sm_60",), run.strip())
        check = replace(Check(), **{key: row[key] for key in ("right", "wrong") if key in row})
        yield Program(name, command, check, lacks=row.get("lacks", "") or _lacking(folder, run))


def _arguments(makefile: str) -> str:
    """Those that the target `run` gives the program."""
    target = re.search(r"^run\s*:.*\n((?:\t.*\n?)+)", makefile, re.MULTILINE)
    line = re.search(r"\./(?:\$[({]program[)}]|main)([^\n|>#]*)", target[1]) if target else None
    return line[1].strip() if line else ""


def _program_of(makefile: str) -> str:
    """The program that the Makefile names, from its folder."""
    named = re.search(r"^program\s*[:?]?=\s*(\S+)", makefile, re.MULTILINE)
    return f"./{named[1]}" if named else "./main"


def smaller(arguments: str) -> str:
    """Numbers become at most 2,048, and the last one 1, which says how often a kernel is repeated, unless it is an option's."""
    words = arguments.split()
    numbers = [at for at, word in enumerate(words) if re.fullmatch(r"\d+", word)]
    for at in numbers:
        while int(words[at]) > _LARGEST:
            words[at] = str(int(words[at]) // 4)
    if numbers and not (numbers[-1] and words[numbers[-1] - 1].startswith("-")):
        words[numbers[-1]] = "1"
    return " ".join(words)


def _lacking(folder: Path, run: str) -> str:
    """A file that the arguments name and that is not there."""
    paths = (
        word for word in run.split()[1:] if "/" in word or re.fullmatch(r"[\w.-]*[A-Za-z_][\w-]*\.[A-Za-z]\w*", word)
    )
    return next((path for path in paths if not (folder / path).exists() and not path.startswith("-")), "")
