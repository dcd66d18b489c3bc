"""Runs a project's own tests, or a comparison of ours with a plain reference, and counts."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from dataclasses import dataclass
from pathlib import Path

from outside.projects.building import environment
from outside.projects.table import HERE, Expected, Project


@dataclass(frozen=True)
class Tested:
    """What came out. `failures` are names and messages."""

    passed: int
    failed: int
    skipped: int
    failures: tuple[str, ...]

    def is_as(self, expected: Expected) -> bool:
        return (self.passed, self.failed, self.skipped) == (expected.passed, expected.failed, expected.skipped)


def test(project: Project, folder: Path, log: Path, seconds: float) -> Tested:
    """Run the command of the table; `check:NAME` is a program of `checks`, whose last line counts."""
    first, *arguments = project.test
    report = log.with_suffix(".xml")
    report.unlink(missing_ok=True)
    with log.open("wb") as output:
        try:
            subprocess.run(
                [sys.executable, *_command(first, arguments, report)],
                cwd=folder / project.folder / project.cwd,
                env=_environment(project, folder),
                stdout=output,
                stderr=subprocess.STDOUT,
                timeout=seconds,
            )
        except subprocess.TimeoutExpired:
            return Tested(0, 1, 0, (f"no end after {seconds:g} s",))
    return _counted(report) if first == "pytest" else _printed(log)


def _command(first: str, arguments: list[str], report: Path) -> list[str]:
    if first.startswith("check:"):
        return [str(HERE / "checks" / f"of_{first.removeprefix('check:')}.py"), *arguments]
    sampled = ["-p", "outside.projects.sampling"]
    plain = ["-q", "-p", "no:cacheprovider", "-p", "no:randomly", "-c", os.devnull, "--rootdir", "."]
    return ["-m", "pytest", *plain, *sampled, f"--junitxml={report}", *arguments]


def _environment(project: Project, folder: Path) -> dict[str, str]:
    found = environment(project, folder)
    path = os.pathsep.join(filter(None, [found["PYTHONPATH"], str(HERE.parent.parent)]))
    return {**found, "PYTHONPATH": path, "OUTSIDE_SAMPLE": str(project.sample), "PYTHONDONTWRITEBYTECODE": "1"}


def _counted(report: Path) -> Tested:
    """From pytest's report, which is there only if the process came to its end."""
    if not report.exists():
        return Tested(0, 1, 0, ("the tests did not come to an end",))
    failures, skipped, total = [], 0, 0
    for case in ElementTree.parse(report).getroot().iter("testcase"):
        total += 1
        skipped += case.find("skipped") is not None
        wrong = next((found for name in ("failure", "error") if (found := case.find(name)) is not None), None)
        if wrong is not None:
            message = " ".join(wrong.get("message", "").split())[:200]
            failures.append(f"{case.get('classname')}::{case.get('name')}: {message}")
    return Tested(total - len(failures) - skipped, len(failures), skipped, tuple(failures))


def _printed(log: Path) -> Tested:
    """From the last line of a check: {"tried": 12, "wrong": ["name"]}. The summary of --memcheck may follow it."""
    lines = log.read_text(encoding="utf-8", errors="replace").strip().splitlines()
    lines = [line for line in lines if not line.startswith("musasim: memcheck: ")] or lines
    try:
        found = json.loads(lines[-1])
    except (IndexError, ValueError):
        return Tested(0, 1, 0, (lines[-1][:200] if lines else "no output",))
    return Tested(found["tried"] - len(found["wrong"]), len(found["wrong"]), 0, tuple(found["wrong"]))
