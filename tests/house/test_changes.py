"""Change fragments are well-formed: it would be too late to notice at a release that one was ignored because of its name."""

from __future__ import annotations

import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from support.interpreter import ROOT
from torchada import __version__

pytestmark = [pytest.mark.core, pytest.mark.once]

FRAGMENTS = sorted(path for path in (ROOT / "changes").iterdir() if path.name not in ("README.md", ".gitignore"))
TYPES = ("security", "removed", "changed", "added", "fixed")
NAME = re.compile(rf"(\+[a-z0-9.-]+|\d+)\.({'|'.join(TYPES)})\.md")


def faults(name: str, text: str) -> list[str]:
    """What is wrong with a fragment."""
    checks = {
        f"its name is not +SLUG.TYPE.md or NUMBER.TYPE.md with a type of {', '.join(TYPES)}": NAME.fullmatch(name),
        "it begins with neither a capital letter nor a name in backquotes": re.match(r"[A-Z`*]", text),
        "it does not end with a full stop and one line break": re.search(r"[^\n]\.\n\Z", text),
        "it has headings, lists or blank lines": not re.search(r"^([#*-] |$)", text.strip(), re.MULTILINE),
        "it has more than 600 characters": len(text) <= 600,
    }
    return [fault for fault, fine in checks.items() if not fine]


@pytest.mark.parametrize("path", FRAGMENTS, ids=lambda path: path.name)
def test_fragment_is_well_formed(path: Path) -> None:
    assert faults(path.name, path.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize(
    ("name", "text", "fault"),
    [
        ("+names.new.md", "Names.\n", "its name"),
        ("names.added.md", "Names.\n", "its name"),
        ("+names.added.md", "names.\n", "it begins"),
        ("+names.added.md", "Names", "it does not end"),
        ("+names.added.md", "# Names\n\nMore.\n", "it begins"),
        ("+names.added.md", "Names:\n- one.\n", "it has headings"),
        ("+names.added.md", f"Names{' and names' * 60}.\n", "it has more"),
    ],
)
def test_malformed_fragment_is_reported(name: str, text: str, fault: str) -> None:
    assert [found for found in faults(name, text) if found.startswith(fault)]


def test_types_are_those_that_the_changelog_is_made_with() -> None:
    configured = re.findall(r'\{ directory = "(\w+)"', (ROOT / "pyproject.toml").read_text())
    assert configured == list(TYPES)


def test_changelog_has_a_section_for_the_version_or_fragments_for_it() -> None:
    sections = re.findall(r"^## (\S+) \(\d{4}-\d\d-\d\d\)$", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert sections and (__version__ in sections or FRAGMENTS)


@pytest.mark.skipif(find_spec("towncrier") is None, reason="towncrier belongs to the extra dev")
def test_towncrier_makes_a_section_of_all_fragments() -> None:
    command = [sys.executable, "-m", "towncrier", "build", "--draft", "--version", "9.9", "--dir", str(ROOT)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("\n- ") == len(FRAGMENTS)
