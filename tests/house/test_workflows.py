"""The workflows call the same scripts as developers do, so both run the same checks."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from support.interpreter import ROOT

pytestmark = [pytest.mark.core, pytest.mark.once]

WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))


def test_there_are_workflows_for_checks_nightly_and_releases() -> None:
    assert [path.stem for path in WORKFLOWS] == ["checks", "nightly", "release"]


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_scripts_of_a_workflow_exist_and_can_be_executed(path: Path) -> None:
    named = re.findall(r"^\s*(?:- )?run: ((?:scripts|\.ci)/[\w./-]+)", path.read_text(), re.MULTILINE)
    assert named
    for name in named:
        assert os.access(ROOT / name, os.X_OK), name


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_a_workflow_may_only_read_unless_a_job_says_more(path: Path) -> None:
    assert "\npermissions:\n  contents: read\n" in path.read_text()
    assert not re.search(r"^\s+\w+: write$", path.read_text().replace("id-token: write", ""), re.MULTILINE)


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
@pytest.mark.skipif(find_spec("check_jsonschema") is None, reason="check-jsonschema belongs to the extra dev")
def test_a_workflow_follows_its_schema(path: Path) -> None:
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", "vendor.github-workflows", str(path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stdout + done.stderr
