"""A workaround is in force for the versions that it names, and for no others: status shows these to users."""

from __future__ import annotations

import pytest

from support.interpreter import Interpreter
from torchada.redirect.engine import Patch

PROGRAM = """
import importlib, json
from importlib.metadata import PackageNotFoundError, version
import torch
from torchada.hooks.registry import REGISTRY
from torchada.redirect.engine import ENGINE
for module in REGISTRY.modules():
    try:
        importlib.import_module(module)
    except ImportError:
        pass  # this torch has no such module, or the library is not installed
def installed(name):
    if name == "torch_musa":
        return importlib.import_module(name).__version__
    try:
        return version(name)
    except PackageNotFoundError:
        return "not installed"
bound = [
    (area, record.patch.text, which, text, installed(text.partition(" ")[0]))
    for area, records in ENGINE.applied().items()
    for record in records
    for which, text in (("since", record.patch.since), ("until", record.patch.until))
    if text
]
print(json.dumps(bound))
"""


def numbers(version: str) -> list[int]:
    return [int(part) for part in version.partition("+")[0].split(".") if part.isdigit()]


def fits(which: str, named: str, installed: str) -> bool:
    """Up to the named version includes all that begin with its numbers."""
    if which == "since":
        return numbers(installed) >= numbers(named)
    return numbers(installed)[: len(numbers(named))] <= numbers(named)


@pytest.mark.full
@pytest.mark.musa
def test_no_workaround_is_in_force_for_other_versions(musa: Interpreter) -> None:
    bound = musa.json(PROGRAM)
    assert bound
    wrong = [row for row in bound if not fits(row[2], row[3].partition(" ")[2], row[4])]
    assert not wrong, "\n".join(map(str, wrong))


@pytest.mark.once
@pytest.mark.parametrize(
    ("which", "named", "installed", "answer"),
    [
        ("since", "2.8", "2.8.0", True),
        ("since", "2.8", "2.7.1", False),
        ("until", "2.8", "2.8.1+cpu", True),
        ("until", "2.8", "2.9.0", False),
        ("until", "2.13.0", "2.7.1", True),
    ],
)
def test_how_versions_are_compared(which: str, named: str, installed: str, answer: bool) -> None:
    assert fits(which, named, installed) is answer


@pytest.mark.once
def test_what_a_patch_says_of_its_versions() -> None:
    patch = Patch(object(), "name", None, None, since="torch 2.8", until="torch 2.9")
    assert patch.versions == "since torch 2.8, until torch 2.9"
