"""The trainings of trainings.toml: what starts each of them, what its control is, and what they need."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

try:
    import tomllib
except ImportError:  # Python 3.10
    import tomli as tomllib

HERE = Path(__file__).resolve().parent
TABLE = HERE / "trainings.toml"
#: Programs and settings that a user of the framework writes.
GIVEN = HERE / "given"


@dataclass(frozen=True)
class Run:
    """A command: on so many ranks of torchrun, or by Python alone where there are none. A `plain` one is not redirected."""

    words: str
    ranks: int = 0
    plain: bool = False


@dataclass(frozen=True)
class Training:
    """One row. `loss` finds in the output a step and its loss; the steps of the control have to have the same ones."""

    name: str
    package: str
    shows: str
    runs: tuple[Run, ...]
    control: tuple[Run, ...]
    loss: str
    needs: tuple[str, ...] = ()
    #: The release of the package that it was written for, by its beginning.
    release: str = ""
    github: str = ""
    commit: str = ""
    env: Mapping[str, str] = field(default_factory=dict)
    devices: int = 4

    def checkout(self, checkouts: Path) -> Path:
        """The folder of its checkout, where it has one."""
        return checkouts / self.github.rpartition("/")[2]

    def missing(self, checkouts: Path) -> str:
        """Why it cannot be run, or ""."""
        if self.github and not self.checkout(checkouts).is_dir():
            return f"no checkout {self.checkout(checkouts)} (https://github.com/{self.github} at {self.commit})"
        absent = [name for name in self.needs if find_spec(name) is None]
        if absent:
            return f"it imports {', '.join(absent)}, which cannot be imported here"
        fits = self.version.startswith(self.release)
        return "" if fits else f"it is for {self.package} {self.release}, and {self.version} is installed"

    @property
    def version(self) -> str:
        """That of the package or of the checkout."""
        if self.github:
            return self.commit[:8]
        try:
            return version(self.package)
        except PackageNotFoundError:
            return ""

    def losses(self, output: str) -> dict[int, list[float]]:
        """The losses that were printed, by step; several runs may print the same step."""
        found: dict[int, list[float]] = {}
        for match in re.finditer(self.loss, output):
            found.setdefault(int(match["step"]), []).append(float(match["loss"]))
        return found


def read(path: Path = TABLE) -> list[Training]:
    """The rows of the table; `{name}` in a command stands for the words that the table `words` has under this name."""
    table = tomllib.loads(path.read_text(encoding="utf-8"))
    return [_training(row, table.get("words", {})) for row in table["training"]]


def _training(row: dict[str, Any], words: Mapping[str, str]) -> Training:
    runs = {key: tuple(_run(run, words) for run in row[key]) for key in ("runs", "control")}
    return Training(**{**row, **runs, "needs": tuple(row.get("needs", ()))})


def _run(row: dict[str, Any], words: Mapping[str, str]) -> Run:
    text = row["words"]
    for name, meaning in words.items():
        text = text.replace(f"{{{name}}}", meaning)
    return Run(**{**row, "words": text})
