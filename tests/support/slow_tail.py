"""The part of pytest in scripts/slow_tail.py: which slow tests are still to be run, what came of each, and when to stop.

`--slow-tail=PLAN` names a file in JSON, with the keys of `Plan`.
"""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import NamedTuple

import pytest


class Plan(NamedTuple):
    done: list[str]
    start: float  # where to begin, as a part of the whole
    until: float | None  # the time at which no further test begins
    record: str  # the file of results


class SlowTail:
    def __init__(self, plan: Plan) -> None:
        self._plan = plan

    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        done = set(self._plan.done)
        config.hook.pytest_deselected(items=[item for item in items if item.nodeid in done])
        left = [item for item in items if item.nodeid not in done]
        first = int(self._plan.start * len(left))
        items[:] = left[first:] + left[:first]

    def pytest_runtest_protocol(self, item: pytest.Item) -> None:
        if self._plan.until is not None and time.time() > self._plan.until:
            item.session.shouldstop = "the time is up"


class Recorder:
    """One line for each test that has ended, at once, so that nothing is lost when the run is broken off."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._worst: dict[str, str] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.outcome != "passed" and self._worst.get(report.nodeid) != "failed":
            self._worst[report.nodeid] = report.outcome
        if report.when not in ("setup", "call"):  # the end of the test, or of the worker that ran it
            outcome = self._worst.pop(report.nodeid, "passed")
            with self._file.open("a", encoding="utf-8") as record:
                record.write(json.dumps({"test": report.nodeid, "outcome": outcome}) + "\n")


def register(config: pytest.Config) -> None:
    """Workers of pytest-xdist choose the tests, and the process that started them has all the reports."""
    if file := config.getoption("--slow-tail"):
        plan = Plan(**json.loads(Path(file).read_text(encoding="utf-8")))
        config.pluginmanager.register(SlowTail(plan))
        if not hasattr(config, "workerinput"):
            config.pluginmanager.register(Recorder(Path(plan.record)))
