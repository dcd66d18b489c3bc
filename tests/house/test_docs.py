"""The documentation agrees with the code about variables, commands and the files that it names."""

from __future__ import annotations

import re
import subprocess
import sys
import unicodedata
from collections.abc import Iterator
from pathlib import Path

import pytest

import torchada
from support.interpreter import ROOT
from torchada.base import settings

pytestmark = pytest.mark.once

READMES = (ROOT / "README.md", ROOT / "README_CN.md")
ABOUT = tuple(ROOT / name for name in ("CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "changes/README.md"))
PAGES = (*READMES, *ABOUT, *sorted((ROOT / "docs").rglob("*.md")))
ENVIRONMENT = (ROOT / "docs" / "reference" / "environment.md").read_text()
# The folders of this tree that a page may name; a path that begins otherwise belongs to another project.
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


@pytest.mark.parametrize("name", [*(variable.name for variable in settings.VARIABLES), *settings.PREFIXES])
def test_every_variable_of_torchada_is_documented(name: str) -> None:
    assert f"`{name}" in ENVIRONMENT


def test_no_other_variable_of_torchada_is_documented() -> None:
    for page in PAGES:
        if page.name == "move-from-0.1.md":  # it names those that are gone
            continue
        # Macros of C++ are followed by arguments.
        for name in re.findall(r"TORCHADA_[A-Z_]+\b(?!\()", page.read_text()):
            known = {variable.name for variable in settings.VARIABLES}
            assert name in known or name.startswith(settings.PREFIXES), f"{page.name} names {name}"


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


def test_both_readmes_name_the_same_commands_and_variables() -> None:
    english, chinese = (set(re.findall(r"`([^`\n]+)`", page.read_text())) for page in READMES)
    assert english == chinese


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_files_that_a_page_names_exist(page: Path) -> None:
    missing = [path for path in _named_files(page) if not (ROOT / path).exists()]
    assert not missing


def test_ci_runs_the_command_of_the_readme() -> None:
    command = _blocks(READMES[0].read_text(), "sh")[1].strip()
    assert command in (ROOT / ".ci" / "run").read_text().splitlines()


def _headings(page: Path) -> list[str]:
    """The headings of a page, without those in blocks of code."""
    return re.findall(r"^#+ (.*)$", re.sub(r"^```.*?^```", "", page.read_text(), flags=re.M | re.S), re.MULTILINE)


def _anchor(heading: str) -> str:
    """The anchor of a heading, as the hosting site and the built site make it."""
    kept = [letter for letter in heading if letter in " -_" or unicodedata.category(letter)[0] in "LN"]
    return "".join(kept).strip().lower().replace(" ", "-")


def _links_with_anchor() -> Iterator[tuple[Path, Path, str]]:
    for page in PAGES:
        for target, anchor in re.findall(r"\]\(([^)#:]*)#([^)]+)\)", page.read_text()):
            yield page, (page.parent / target if target else page), anchor


def test_every_anchor_that_a_page_links_to_exists() -> None:
    wrong = [
        f"{page.name}: {target.name}#{anchor}"
        for page, target, anchor in _links_with_anchor()
        if anchor not in map(_anchor, _headings(target))
    ]
    assert not wrong


def test_generated_reference_pages_are_up_to_date() -> None:
    command = [sys.executable, str(ROOT / "scripts" / "reference_pages.py"), "--check"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("name", [*torchada.__all__, "CUDA_HOME"])
def test_every_public_name_is_documented(name: str) -> None:
    assert f"`torchada.{name}" in (ROOT / "docs" / "reference" / "python.md").read_text()
