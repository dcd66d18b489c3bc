"""Change fragments: it would be too late to notice at a release that one was left out because of its name."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from support.interpreter import ROOT
from torchada import __version__

pytestmark = pytest.mark.once

FRAGMENTS = sorted(
    path for path in (ROOT / "scripts" / "changes").iterdir() if path.name not in ("README.md", ".gitignore")
)
needs_towncrier = pytest.mark.skipif(find_spec("towncrier") is None, reason="towncrier belongs to the extra dev")


def _draft(root: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "towncrier", "build", "--draft", "--version", "9.9", "--dir", str(root)]
    return subprocess.run(command, capture_output=True, text=True, timeout=60)


@needs_towncrier
def test_towncrier_makes_a_section_of_all_fragments() -> None:
    done = _draft(ROOT)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("\n- ") == len(FRAGMENTS)


@needs_towncrier
@pytest.mark.parametrize(
    ("name", "shown"), [("+names.added.md", True), ("+names.new.md", False), ("names.md", False), ("+added", False)]
)
def test_a_fragment_is_taken_or_refused_and_never_left_out(tmp_path: Path, name: str, shown: bool) -> None:
    for file in ("pyproject.toml", "CHANGELOG.md", "scripts/changes/README.md"):
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / file, tmp_path / file)
    (tmp_path / "scripts" / "changes" / name).write_text("Names.\n")
    done = _draft(tmp_path)
    assert (done.returncode == 0) is ("\n- Names.\n" in done.stdout) is shown, done.stdout + done.stderr


def test_changelog_has_a_section_for_the_version_or_fragments_for_it() -> None:
    heading = r"^## (\S+) \((?:\d{4}-\d\d-\d\d|not released yet)\)$"
    sections = re.findall(heading, (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert sections and (__version__ in sections or FRAGMENTS)
