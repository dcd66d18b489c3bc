"""What was tried, in the READMEs and in docs/reference/tried.md, is what docs/support.toml says."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from support.interpreter import ROOT

pytestmark = pytest.mark.once

WRITTEN = ("README.md", "docs/README_CN.md", "docs/reference/tried.md")
RECORD = """
[slow_tail]
revision = "0123abcd"
date = 2026-11-26
torch = "2.13.0"
passed = 1234
failed = 5
skipped = 67
minutes = 41
"""


def _check(root: Path, *options: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(root / "scripts" / "support_table.py"), *options]
    return subprocess.run(command, capture_output=True, text=True, timeout=60)


def _row(text: str, first: str) -> str:
    (row,) = re.findall(rf"^\| {re.escape(first)} \|.*$", text, re.MULTILINE)
    return row


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    for name in (*WRITTEN, "docs/support.toml", "scripts/support_table.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    return tmp_path


def test_support_tables_are_up_to_date() -> None:
    done = _check(ROOT, "--check")
    assert done.returncode == 0, done.stderr


def test_check_reports_a_changed_row_and_the_script_writes_it(copy: Path) -> None:
    data = copy / "docs" / "support.toml"
    data.write_text(data.read_text().replace('torch = ["2.15.0"]', 'torch = ["2.15.9"]'))
    done = _check(copy, "--check")
    assert done.returncode == 1 and f"{', '.join(WRITTEN)}: run" in done.stderr
    assert "| 2.15.9 |" not in (copy / "README.md").read_text()
    assert _check(copy).returncode == 0
    assert all("| 2.15.9 |" in (copy / name).read_text() for name in WRITTEN)
    assert _check(copy, "--check").returncode == 0


def test_a_version_of_torch_has_one_row_with_every_release_python_and_level(copy: Path) -> None:
    data = copy / "docs" / "support.toml"
    old = '{torch = ["2.7.1"], adapter = "2.7.1", build = "CUDA build, no GPU", python = ["3.10"]'
    assert old in data.read_text()
    data.write_text(
        data.read_text().replace(
            old, '{torch = ["2.7.1"], adapter = "2.9.1", build = "", level = "138-programs", python = ["3.9"]', 1
        )
    )
    data.write_text(re.sub(r'(python = \["3.9"\].*?), level = "once"', r"\1", data.read_text()))
    assert _check(copy).returncode == 0
    row = _row((copy / "README.md").read_text(), "2.7.1")
    assert row == "| 2.7.1 | 2.7.1, 2.9.1 | 3.9, 3.11 | all tests that are not slow, once; 138 of 140 sample programs |"


@pytest.mark.parametrize("readme", WRITTEN[:2])
def test_the_last_run_of_the_slow_tests_is_shown_or_said_to_be_missing(copy: Path, readme: str) -> None:
    data = copy / "docs" / "support.toml"
    plain = re.sub(r"^\[slow_tail\]\n(?:\w.*\n)*", "", data.read_text(), flags=re.MULTILINE)
    shown = {}
    for state, text in (("missing", plain), ("there", plain + RECORD)):
        data.write_text(text)
        assert _check(copy).returncode == 0
        shown[state] = _row((copy / readme).read_text(), {"README.md": "the slow tests"}.get(readme, "耗时较长的测试"))
    assert "not run yet" in shown["missing"] or "尚未运行" in shown["missing"]
    assert all(fact in shown["there"] for fact in ("0123abcd", "2026-11-26", "2.13.0", "1234", "5 ", "67", "41"))


def test_a_readme_without_markers_is_refused(copy: Path) -> None:
    (copy / "README.md").write_text("# torchada\n")
    done = _check(copy)
    assert done.returncode == 1 and "README.md has 0 tables" in done.stderr


def test_every_cell_with_words_has_chinese() -> None:
    text = (ROOT / "docs" / "README_CN.md").read_text()
    chinese = text.partition("<!-- support:begin -->")[2].partition("<!-- support:end")[0]
    rows = [line.strip("| ").split(" | ") for line in chinese.strip().splitlines()[2:]]
    tried = [row[-1] for row in rows]
    assert tried and all(re.search("[\u4e00-\u9fff]", cell) for cell in tried)
