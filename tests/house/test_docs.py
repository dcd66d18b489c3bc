"""The documentation agrees with the code about variables, commands and the files that it names; scripts/docs.sh checks the rest."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import torchada
from support.interpreter import ROOT
from torchada import cli
from torchada.base import settings

pytestmark = pytest.mark.once

READMES = (ROOT / "README.md", ROOT / "docs" / "README_CN.md")
# Of the pages in docs, mkdocs looks after links and anchors (scripts/docs.sh).
OUTSIDE = (READMES[0], *(ROOT / name for name in ("AGENTS.md", "CHANGELOG.md", "scripts/changes/README.md")))
PAGES = (*OUTSIDE, *sorted((ROOT / "docs").rglob("*.md")))
ENVIRONMENT = (ROOT / "docs" / "reference" / "environment.md").read_text()
# The folders of this tree that a page may name; a path that begins otherwise belongs to another project.
OURS = ("benchmarks", "docs", "scripts", "sitecustomize", "src", "tests", ".ci", ".devcontainer", ".github")


def _blocks(text: str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


def _named_files(page: Path) -> Iterator[str]:
    """Paths in backquotes, relative to the root of the tree; arguments may follow."""
    for path in re.findall(r"`([\w./-]+)(?: [^`\n]*)?`", page.read_text()):
        if path.split("/")[0] in OURS and "/" in path:
            yield path


def _links(page: Path) -> Iterator[tuple[Path, str]]:
    """The files that a page links to, with the anchor in it."""
    for target, anchor in re.findall(r"\]\(([^)#:]+)#?([\w-]*)\)", page.read_text()):
        yield page.parent / target, anchor


def test_every_variable_of_torchada_is_documented() -> None:
    names = [*(variable.name for variable in settings.VARIABLES), *settings.PREFIXES]
    assert names and not [name for name in names if f"`{name}" not in ENVIRONMENT]


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


def test_files_that_a_page_names_exist() -> None:
    named = [(page, path) for page in PAGES for path in _named_files(page)]
    assert named and not [f"{page.name}: {path}" for page, path in named if not (ROOT / path).exists()]


def test_links_of_pages_that_are_not_on_the_site_lead_to_files_and_headings() -> None:
    links = [(page, target, anchor) for page in OUTSIDE for target, anchor in _links(page)]
    missing = [f"{page.name}: {target}" for page, target, _ in links if not target.exists()]
    missing += [
        f"{page.name}: #{anchor}" for page, target, anchor in links if anchor and anchor not in _anchors(target)
    ]
    assert links and not missing


def test_pages_that_the_sources_name_are_there_with_their_headings() -> None:
    texts = [path.read_text() for path in sorted((ROOT / "src").rglob("*.py"))]
    named = {name for text in texts for name in re.findall(r"\b((?:how-to|reference)/[\w.-]+\.md)(?:#([\w-]+))?", text)}
    pages = {(ROOT / "docs" / page, anchor) for page, anchor in named}
    missing = [f"{page}#{anchor}" for page, anchor in pages if not page.exists() or anchor not in {"", *_anchors(page)}]
    assert any(anchor for _, anchor in pages) and not missing


def _anchors(page: Path) -> set[str]:
    """The anchors of an English page's headings, as the hosting site makes them."""
    headings = re.findall(r"^#+ (.*)$", page.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading).lower().replace(" ", "-") for heading in headings}


def test_ci_runs_the_command_of_the_readme() -> None:
    command = _blocks(READMES[0].read_text(), "sh")[1].strip()
    assert f"{command} --all" in (ROOT / ".ci" / "run").read_text().splitlines()


def test_generated_reference_pages_are_up_to_date() -> None:
    command = [sys.executable, str(ROOT / "scripts" / "reference_pages.py"), "--check"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr


def test_every_public_name_is_documented() -> None:
    page = (ROOT / "docs" / "reference" / "python.md").read_text()
    assert not [name for name in (*torchada.__all__, "CUDA_HOME") if f"`torchada.{name}" not in page]


def test_the_first_page_names_every_tool() -> None:
    page = (ROOT / "docs" / "index.md").read_text()
    assert not [name for name in cli.COMMANDS if f"`torchada {name}`" not in page]
