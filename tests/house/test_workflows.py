"""The workflows call the same scripts as developers do, are valid, and may do no more than they need."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from support.interpreter import ROOT

pytestmark = pytest.mark.once

ZIZMOR = Path(sys.executable).with_name("zizmor")
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
FOR_OTHERS = "cuda-simulated"  # which other projects call; tests/house/test_ci_files.py runs what it runs
ACTIONS = sorted((ROOT / ".github" / "actions").glob("*/action.yml"))


def _run(command: list[str | Path]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60)


def test_scripts_of_the_workflows_exist_and_can_be_executed() -> None:
    named = {path.stem: re.findall(r"run: .*?((?:scripts|\.ci)/[\w./-]+)", path.read_text()) for path in WORKFLOWS}
    assert named.pop(FOR_OTHERS) == []
    assert list(named) == ["checks", "nightly", "release"] and all(named.values())
    assert not [name for names in named.values() for name in names if not os.access(ROOT / name, os.X_OK)]


def test_no_job_may_write_but_the_one_that_publishes_by_its_identity() -> None:
    granted = [
        right for path in WORKFLOWS for right in re.findall(r"^ +(\S+): write\b", path.read_text(), re.MULTILINE)
    ]
    assert granted == ["id-token"]


@pytest.mark.skipif(not ZIZMOR.exists(), reason="zizmor belongs to the extra dev")
def test_zizmor_sees_no_weakness_in_the_workflows() -> None:
    """Rights that are too wide, texts of strangers in commands, credentials that are left behind."""
    done = _run([ZIZMOR, "--offline", "--no-progress", "--strict-collection", ".github"])
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.skipif(find_spec("check_jsonschema") is None, reason="check-jsonschema belongs to the extra dev")
def test_the_workflows_follow_their_schema() -> None:
    """zizmor lets a misspelt key of a job pass."""
    for schema, files in (("workflows", WORKFLOWS), ("actions", ACTIONS)):
        done = _run([sys.executable, "-m", "check_jsonschema", "--builtin-schema", f"vendor.github-{schema}", *files])
        assert files and done.returncode == 0, done.stdout + done.stderr
