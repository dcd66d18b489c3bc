"""The documents keep pace with the code: variables, commands and the files they name."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.interpreter import ROOT
from torchada import _settings

pytestmark = pytest.mark.once

READMES = (ROOT / "README.md", ROOT / "README_CN.md")
PAGES = (*READMES, *sorted((ROOT / "docs").rglob("*.md")))
ENVIRONMENT = (ROOT / "docs" / "reference" / "environment.md").read_text()
# The folders of this tree that a page may name; a path that begins otherwise is somebody else's.
OURS = ("benchmarks", "build_backend", "docs", "examples", "scripts", "sitecustomize", "src", "tests", ".ci")


def _blocks(text: str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


def _named_files(page: Path) -> Iterator[str]:
    """Paths in backquotes and in links, relative to the root of the tree."""
    text = page.read_text()
    for path in re.findall(r"`([\w./-]+)`", text):
        if path.split("/")[0] in OURS and "/" in path:
            yield path
    for target in re.findall(r"\]\(([^)#:]+)(?:#[\w-]*)?\)", text):
        yield str((page.parent / target).resolve().relative_to(ROOT))


@pytest.mark.parametrize("name", [*(variable.name for variable in _settings.VARIABLES), *_settings.PREFIXES])
def test_every_variable_of_torchada_is_documented(name: str) -> None:
    assert f"`{name}" in ENVIRONMENT


def test_no_other_variable_of_torchada_is_documented() -> None:
    for page in PAGES:
        for name in re.findall(
            r"TORCHADA_[A-Z_]+\b(?!\()", page.read_text()
        ):  # macros of C++ are followed by arguments
            known = {variable.name for variable in _settings.VARIABLES}
            assert name in known or name.startswith(_settings.PREFIXES), f"{page.name} names {name}"


def test_every_variable_of_the_simulator_is_documented() -> None:
    sources = [path for path in (ROOT / "src" / "musasim").rglob("*") if path.suffix in {".py", ".cpp", ".h"}]
    read = {name for path in sources for name in re.findall(r'"(MUSASIM_[A-Z_]+)"', path.read_text())}
    documented = set(re.findall(r"^\| `(MUSASIM_[A-Z_]+)`", ENVIRONMENT, re.MULTILINE))
    assert documented == read


@pytest.mark.parametrize("language", ["sh", "text"])
def test_both_readmes_show_the_same_commands(language: str) -> None:
    english, chinese = (_blocks(page.read_text(), language) for page in READMES)
    assert english == chinese
    assert english


def test_both_readmes_give_the_same_numbers() -> None:
    english, chinese = (re.findall(r"^\| `.*$", page.read_text(), re.MULTILINE) for page in READMES)
    assert english == chinese


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_the_files_a_page_names_exist(page: Path) -> None:
    missing = [path for path in _named_files(page) if not (ROOT / path).exists()]
    assert not missing


def test_ci_runs_the_command_of_the_readme() -> None:
    command = _blocks(READMES[0].read_text(), "sh")[1].strip()
    assert command in (ROOT / ".ci" / "run").read_text().splitlines()
