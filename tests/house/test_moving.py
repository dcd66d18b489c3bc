"""docs/how-to/move-from-0.1.md agrees with the current code about what still exists of torchada 0.1, and what does not."""

from __future__ import annotations

import re
from importlib import import_module

import pytest

import torchada
from support.interpreter import ROOT
from torchada.base import settings

pytestmark = pytest.mark.once

PAGE = (ROOT / "docs" / "how-to" / "move-from-0.1.md").read_text()
NAMES, _, GONE = PAGE.partition("## Names")[2].partition("## Extensions")[0].partition("These do not exist")
KEPT, _, DEPRECATED = NAMES.partition("These exist as well")
VARIABLES = PAGE.partition("## Variables")[2].partition("## Exact pins")[0]


def _quoted(text: str) -> list[str]:
    return re.findall(r"`([^`\n]+)`", text)


def _exists(name: str) -> bool:
    return hasattr(torchada, name) or hasattr(import_module("torchada.utils.cpp_extension"), name)


@pytest.mark.full
@pytest.mark.parametrize("name", [name for name in _quoted(KEPT) if "." not in name])
def test_a_name_that_is_said_to_be_kept_exists(name: str) -> None:
    assert _exists(name)


@pytest.mark.filterwarnings("ignore:.* is a name of torchada 0.1:DeprecationWarning")
@pytest.mark.parametrize("name", re.findall(r"^\| `torchada\.([\w.]+)", DEPRECATED, re.MULTILINE))
def test_a_name_that_is_said_to_be_deprecated_exists(name: str) -> None:
    module, _, last = f"torchada.{name}".rpartition(".")
    assert hasattr(import_module(module), last)


def test_no_name_that_is_said_to_be_gone_is_one_of_ours() -> None:
    """All names of 0.1 exist; what is gone are hooks on other libraries."""
    assert not re.findall(r"^\| `torchada\.", GONE, re.MULTILINE)


@pytest.mark.parametrize("row", re.findall(r"^\| (`TORCHADA.*)$", VARIABLES, re.MULTILINE))
def test_a_variable_is_known_unless_it_is_said_to_be_gone(row: str) -> None:
    names, effect = row.split(" | ", 1)
    known = [settings.variable(name.replace("<OP>", "mm")) is not None for name in _quoted(names)]
    assert known == [not effect.startswith("gone")] * len(known)
