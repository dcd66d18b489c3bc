"""docs/reference/capabilities.md is right: the tests it names exist, and whatever does not work has a reason."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

import pytest

from musasim.base import release
from support.interpreter import ROOT

pytestmark = pytest.mark.once

PAGE = (ROOT / "docs" / "reference" / "capabilities.md").read_text()
HEADER = ["capability", "result", "tests", "reason"]
BY_RELEASE = ["capability", *release.VERSIONS, "tests"]


class Row(NamedTuple):
    capability: str
    result: str
    tests: list[str]
    reason: str


class ByRelease(NamedTuple):
    capability: str
    results: list[str]
    tests: list[str]


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]


def _lines(columns: int) -> Iterator[list[str]]:
    """The rows of the tables with so many columns."""
    for line in PAGE.splitlines():
        if line.startswith("|") and not set(line) <= {"|", "-"}:
            cells = _cells(line)
            if cells not in (HEADER, BY_RELEASE) and len(cells) == columns:
                yield cells


def _named(tests: str) -> list[str]:
    return re.findall(r"`([^`]+)`", tests)


def _rows() -> Iterator[Row]:
    for capability, result, tests, reason in _lines(len(HEADER)):
        yield Row(capability, result, _named(tests), reason)


def _rows_by_release() -> Iterator[ByRelease]:
    for capability, *results, tests in _lines(len(BY_RELEASE)):
        yield ByRelease(capability, results, _named(tests))


@cache
def _tests_of(path: str) -> set[str]:
    """Names of the test functions of a file, those of its classes too, as `Class::test_name` and by themselves."""
    names = set()
    for node in ast.parse((ROOT / path).read_text()).body:
        functions = [node] if isinstance(node, ast.FunctionDef) else []
        methods = node.body if isinstance(node, ast.ClassDef) and node.name.startswith("Test") else []
        names |= {function.name for function in functions}
        for method in methods:
            if isinstance(method, ast.FunctionDef):
                names |= {method.name, f"{node.name}::{method.name}"}  # type: ignore[attr-defined]
    return {name for name in names if name.rpartition("::")[2].startswith("test_")}


def _is_there(test: str) -> bool:
    path, _, name = test.partition("::")
    return (ROOT / path).is_file() and name in _tests_of(path)


ROWS = list(_rows())
ROWS_BY_RELEASE = list(_rows_by_release())


def test_every_section_has_rows() -> None:
    sections = re.split(r"^## .*$", PAGE, flags=re.MULTILINE)[1:]
    assert sections and all(section.count("\n| ") > 1 for section in sections)
    assert len(ROWS) + len(ROWS_BY_RELEASE) == PAGE.count("\n| ") - len(sections)


def _is_complete(row: Row) -> bool:
    return (
        bool(row.capability)
        and row.result in ("yes", "partly", "no")
        and bool(row.reason) is (row.result != "yes")
        and bool(row.tests or row.result == "no")
    )


def test_every_row_is_complete() -> None:
    incomplete = [row for row in ROWS if not _is_complete(row)]
    assert not incomplete, "\n".join(map(str, incomplete))


def test_rows_by_release_say_yes_or_no_for_each_and_name_their_tests() -> None:
    wrong = [row for row in ROWS_BY_RELEASE if not row.capability or not row.tests or {*row.results} - {"yes", "no"}]
    assert ROWS_BY_RELEASE and not wrong, "\n".join(map(str, wrong))


def test_every_test_that_is_named_exists() -> None:
    named = sorted({test for row in (*ROWS, *ROWS_BY_RELEASE) for test in row.tests})
    missing = [test for test in named if not _is_there(test)]
    assert named and not missing, "\n".join(missing)
