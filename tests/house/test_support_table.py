"""The support tables of the READMEs are those of docs/support.toml."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from support.interpreter import ROOT

pytestmark = [pytest.mark.core, pytest.mark.once]

README = ("README.md", "README_CN.md")


def _check(root: Path, *options: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(root / "scripts" / "support_table.py"), *options]
    return subprocess.run(command, capture_output=True, text=True, timeout=60)


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    for name in (*README, "docs/support.toml", "scripts/support_table.py"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    return tmp_path


def test_support_tables_are_up_to_date() -> None:
    done = _check(ROOT, "--check")
    assert done.returncode == 0, done.stderr


def test_check_reports_a_changed_row_and_the_script_writes_it(copy: Path) -> None:
    data = copy / "docs" / "support.toml"
    data.write_text(data.read_text().replace('"2.13.0 (CPU build)", "simulated"', '"2.13.9", "simulated"'))
    done = _check(copy, "--check")
    assert done.returncode == 1 and "README.md, README_CN.md: run" in done.stderr
    assert "| 2.13.9 |" not in (copy / "README.md").read_text()
    assert _check(copy).returncode == 0
    assert "| 2.13.9 |" in (copy / "README.md").read_text()
    assert _check(copy, "--check").returncode == 0


def test_a_readme_without_markers_is_refused(copy: Path) -> None:
    (copy / "README.md").write_text("# torchada\n")
    done = _check(copy)
    assert done.returncode == 1 and "README.md has 0 tables" in done.stderr


def test_every_cell_with_words_has_chinese() -> None:
    chinese = (
        (ROOT / "README_CN.md").read_text().partition("<!-- support:begin -->")[2].partition("<!-- support:end")[0]
    )
    rows = [line.strip("| ").split(" | ") for line in chinese.strip().splitlines()[2:]]
    tried = [row[-1] for row in rows]
    assert tried and all(re.search("[\u4e00-\u9fff]", cell) for cell in tried)
