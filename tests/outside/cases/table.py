"""The programs of a folder: how each is run, and what says that its answer is CUDA's. cases.toml has what the files do not say."""

from __future__ import annotations

import re
import shutil
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any

try:
    import tomllib
except ImportError:  # Python 3.10
    import tomli as tomllib

HERE = Path(__file__).resolve().parent
TABLE = HERE / "cases.toml"
#: What programs print where they fail, whatever else they print.
WRONG = r"^(?:FAIL|WRONG|RAISES|Traceback)\b"
REFUSED = r"UnsupportedError"
_TORCHRUN = ("-m", "torch.distributed.run", "--standalone")
_INTERPRETERS = {".py": (sys.executable,), ".sh": ("bash",)}


@dataclass(frozen=True)
class Case:
    """One program. Without a row in the table, its exit status and its own words of failure decide.

    `right` are regular expressions that the output has to match, `wrong` is one that it must not. `needs` are modules, and
    `commands` are programs that it starts. `start` stands in front of the program, and `shows` are files that it writes. A variable
    of `env` that is empty is taken away. `renamed` are modules that have other names by now.
    """

    name: str
    right: tuple[str, ...] = ()
    wrong: str = WRONG
    refused: str = REFUSED
    exit: int = 0
    ranks: int = 0
    torchrun: tuple[str, ...] = ()
    start: tuple[str, ...] = ()
    args: tuple[str, ...] = ()
    shows: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    needs: tuple[str, ...] = ()
    commands: tuple[str, ...] = ()
    releases: tuple[str, ...] = ()
    renamed: Mapping[str, str] = field(default_factory=dict)
    not_run: str = ""

    def missing(self, release: str) -> str:
        """Why it is not run here, or ""."""
        if self.not_run:
            return self.not_run
        if self.releases and release not in self.releases:
            return f"it is for torch_musa {', '.join(self.releases)}"
        absent = [name for name in self.needs if find_spec(name) is None]
        absent += [name for name in self.commands if shutil.which(name) is None]
        return f"it needs {', '.join(absent)}" if absent else ""

    def command(self, path: Path) -> list[str]:
        """What starts it, where it lies at `path`."""
        start = [*_INTERPRETERS[path.suffix]]
        if self.ranks:
            start += [*_TORCHRUN, f"--nproc-per-node={self.ranks}", *self.torchrun]
        return [*start, *self.start, str(path), *self.args]

    def copy(self, folder: Path, to: Path) -> Path:
        """The program as it is run, a copy in the folder `to`."""
        text = (folder / self.name).read_text(encoding="utf-8")
        for old, new in self.renamed.items():
            text = text.replace(old, new)
        path = to / Path(self.name).name
        path.write_text(text, encoding="utf-8")
        return path

    def verdict(self, code: int | None, output: str) -> str:
        """What is not right about what it did, in one line, or "". There is no code where its time was over."""
        if code is None:
            return f"time-out: {output.splitlines()[-1]}"
        missing = next((each for each in self.right if not re.search(each, output, re.MULTILINE)), None)
        failed = re.search(self.wrong, output, re.MULTILINE) if self.wrong else None
        if code == self.exit and missing is None and failed is None:
            return ""
        if refused := list(re.finditer(self.refused, output)):
            return f"refused: {_line(output, refused[-1])}"
        if failed is not None:
            return f"wrong: {_reason(output, failed)}"
        return f"wrong: exit status {code}" if code != self.exit else f"wrong: it does not print {missing}"


def _line(output: str, match: re.Match[str]) -> str:
    start, end = output.rfind("\n", 0, match.start()) + 1, output.find("\n", match.start())
    return output[start : end if end >= 0 else len(output)].strip()[:200]


def _reason(output: str, failed: re.Match[str]) -> str:
    """The line that says so; of a traceback, its last."""
    if not failed[0].startswith("Traceback"):
        return _line(output, failed)
    return next((line for line in output[failed.end() :].splitlines()[1:] if line[:1].strip()), "a traceback")[:200]


def read(folder: Path, path: Path = TABLE) -> list[Case]:
    """The programs of `folder`, by their paths below `top(folder)`."""
    rows: dict[str, dict[str, Any]] = tomllib.loads(path.read_text(encoding="utf-8"))
    names = sorted(_names(folder, top(folder, path)))
    if not names:
        raise SystemExit(f"{folder} has no program: expected files that end in {' or '.join(_INTERPRETERS)}")
    return [_case(name, rows.get(name, {})) for name in names]


def top(folder: Path, path: Path = TABLE) -> Path:
    """Where the table's paths begin: at `folder`, or at the one above where `folder` is a part that the table names."""
    rows = tomllib.loads(path.read_text(encoding="utf-8"))
    return folder.parent if any(name.startswith(f"{folder.name}/") for name in rows) else folder


def _names(folder: Path, above: Path) -> Iterator[str]:
    for path in folder.rglob("*"):
        if path.suffix in _INTERPRETERS and path.is_file() and "__pycache__" not in path.parts:
            yield path.relative_to(above).as_posix()


def _case(name: str, row: dict[str, Any]) -> Case:
    lists = {key: tuple(value) for key, value in row.items() if isinstance(value, list)}
    return Case(name, **{**row, **lists})
