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
    found = set()
    for node in ast.parse((ROOT / path).read_text()).body:
        functions = [node] if isinstance(node, ast.FunctionDef) else []
        methods = node.body if isinstance(node, ast.ClassDef) and node.name.startswith("Test") else []
        found |= {function.name for function in functions}
        for method in methods:
            if isinstance(method, ast.FunctionDef):
                found |= {method.name, f"{node.name}::{method.name}"}  # type: ignore[attr-defined]
    return {name for name in found if name.rpartition("::")[2].startswith("test_")}


ROWS = list(_rows())


def test_every_section_has_rows() -> None:
    sections = re.split(r"^## .*$", PAGE, flags=re.MULTILINE)[1:]
    assert sections and all(section.count("\n| ") > 1 for section in sections)
    assert len(ROWS) == PAGE.count("\n| ") - len(sections)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.capability)
def test_a_row_is_complete(row: Row) -> None:
    assert row.capability and row.result in ("yes", "partly", "no")
    assert bool(row.reason) is (row.result != "yes")
    assert row.tests or row.result == "no"


@pytest.mark.parametrize("test", sorted({test for row in ROWS for test in row.tests}))
def test_a_test_that_is_named_exists(test: str) -> None:
    path, _, name = test.partition("::")
    assert name in _tests_of(path)
