"""docs/reference/capabilities.md is right: the tests it names exist, and whatever does not work has a reason."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

import pytest

from support.interpreter import ROOT

pytestmark = pytest.mark.once

PAGE = (ROOT / "docs" / "reference" / "capabilities.md").read_text()
HEADER = ["capability", "result", "tests", "reason"]


class Row(NamedTuple):
    capability: str
    result: str
    tests: list[str]
    reason: str


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]


def _rows() -> Iterator[Row]:
    for line in PAGE.splitlines():
        if line.startswith("|") and not set(line) <= {"|", "-"} and _cells(line) != HEADER:
            capability, result, tests, reason = _cells(line)
            yield Row(capability, result, re.findall(r"`([^`]+)`", tests), reason)


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


def test_every_section_has_rows() -> None:
    sections = re.split(r"^## .*$", PAGE, flags=re.MULTILINE)[1:]
    assert sections and all(section.count("\n| ") > 1 for section in sections)
    assert len(ROWS) == PAGE.count("\n| ") - len(sections)


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


def test_every_test_that_is_named_exists() -> None:
    named = sorted({test for row in ROWS for test in row.tests})
    missing = [test for test in named if not _is_there(test)]
    assert named and not missing, "\n".join(missing)
