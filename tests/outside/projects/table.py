"""The table of projects: where each comes from, how it is built and tested, and what is known of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

try:
    import tomllib
except ImportError:  # Python 3.10
    import tomli as tomllib

HERE = Path(__file__).resolve().parent


@dataclass(frozen=True)
class Source:
    """A repository at a commit; `at` is where it belongs in the project, for what a project has as a submodule.

    `paths` are the folders and files that are taken, if not all are.
    """

    github: str
    commit: str
    at: str = "."
    paths: tuple[str, ...] = ()


@dataclass(frozen=True)
class Expected:
    """What a run is compared with. `stops` is the line that ends the build of a project that cannot be built."""

    passed: int = 0
    failed: int = 0
    skipped: int = 0
    stops: str = ""


@dataclass(frozen=True)
class Project:
    """One row. `folder` has the setup.py; `test` is a command, in which a first word of `check:NAME` is `checks/of_NAME.py`.

    `build` are Python's arguments, or "cmake" and those of CMake, or "torchada" and those of CMake by `torchada build`; in those,
    {folder} is the project's and {python} this Python.
    """

    name: str
    sources: tuple[Source, ...]
    test: tuple[str, ...]
    expected: Expected
    folder: str = "."
    build: tuple[str, ...] = ("setup.py", "build_ext", "--inplace")
    #: Globs of the sources that are compiled, where setup.py names more than there is time for; all, if there are none.
    only: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    #: Folders, below the project's, that the tests import from, and where they run.
    path: tuple[str, ...] = (".",)
    cwd: str = "."
    #: Of the project's tests so many, evenly spread; 0 for all.
    sample: int = 0
    #: What its tests show under MUSASIM_MEMCHECK=1, as `memcheck.read` writes it; None if that has not been tried.
    faults: tuple[str, ...] | None = None
    #: The command and its figures under MUSASIM_MEMCHECK=1, where `test` would take hours.
    checked_test: tuple[str, ...] = ()
    checked_expected: Expected | None = None
    #: Why the tests that fail do, and what a reader has to know.
    notes: str = ""

    def checked(self) -> Project:
        """The same project, in a folder of its own, with kernels that are compiled so that their accesses are looked at."""
        # pytest would keep what a test writes to stderr, and show it only for a test that fails.
        test = self.checked_test or self.test
        test = (*test, "-s") if test[0] == "pytest" else test
        env = {**self.env, "MUSASIM_MEMCHECK": "1"}
        expected = self.checked_expected or self.expected
        return replace(self, name=f"{self.name}-memcheck", env=env, test=test, expected=expected)


def read(path: Path = HERE / "table.toml") -> dict[str, Project]:
    """All rows, by name."""
    rows = tomllib.loads(path.read_text(encoding="utf-8"))
    return {name: _project(name, row) for name, row in rows.items()}


def _project(name: str, row: dict[str, Any]) -> Project:
    sources = tuple(Source(**{**each, "paths": tuple(each.get("paths", ()))}) for each in row.pop("sources"))
    lists = {key: tuple(value) for key, value in row.items() if isinstance(value, list)}
    expected = Expected(**row.pop("expected", {}))
    checked = Expected(**row.pop("checked_expected")) if "checked_expected" in row else None
    return Project(name, sources, expected=expected, checked_expected=checked, **{**row, **lists})
