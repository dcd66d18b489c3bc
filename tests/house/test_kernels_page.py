"""docs/how-to/kernels.md, repeated: each command on it is run, and prints what the page shows."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from support.interpreter import ROOT, clean_environment

pytestmark = [pytest.mark.once, pytest.mark.musa, pytest.mark.full]

PAGE = (ROOT / "docs" / "how-to" / "kernels.md").read_text()
BEGIN, GDB, COVERAGE = re.findall(r"^```console\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("kernels") / "project"
    shutil.copytree(ROOT / "docs" / "examples" / "kernels", place)
    return place


def _split(block: str, prompt: str) -> tuple[list[str], list[str]]:
    """The commands behind the prompt, and what is shown besides."""
    lines = block.splitlines()
    commands = [line.removeprefix(prompt) for line in lines if line.startswith(prompt)]
    return commands, [line for line in lines if not line.startswith((prompt, "$ "))]


def _run(folder: Path, commands: list[str], words: str = "") -> str:
    programs = f"export PATH={Path(sys.executable).parent}:$PATH"
    script = "\n".join(["set -e", programs, *commands])
    command = ["bash", "--noprofile", "--norc", "-c", script]
    done = subprocess.run(
        command, cwd=folder, env=clean_environment(), input=words, capture_output=True, text=True, timeout=900
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_the_program_runs(folder: Path) -> None:
    commands, shown = _split(BEGIN, "$ ")
    assert _run(folder, commands).splitlines()[-1:] == shown


@pytest.mark.skipif(shutil.which("gdb") is None, reason="needs gdb")
@pytest.mark.slow
def test_gdb_stops_in_the_thread_of_the_condition(folder: Path) -> None:
    start = _split(BEGIN, "$ ")[0][:2]
    (command,) = (line.removeprefix("$ ") for line in GDB.splitlines() if line.startswith("$ t"))
    typed, _ = _split(GDB, "(gdb) ")
    shown = [line for line in GDB.splitlines() if not line.startswith(("(gdb) ", "$ t"))]
    said = _run(folder, [*start, command], "\n".join([*typed, "quit", ""]))
    answers = [line.removeprefix("(gdb) ") for line in said.splitlines()]
    assert [line for line in answers if line in shown] == shown, said


def test_lines_that_have_not_run_are_named(folder: Path) -> None:
    start = _split(BEGIN, "$ ")[0][:1]
    commands, shown = _split(COVERAGE, "$ ")
    assert _run(folder, [*start, *commands]).splitlines()[-len(shown) :] == shown
    assert "SF:" in (folder / "device.info").read_text()
