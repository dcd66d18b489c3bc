"""A plugin of pytest in the process that runs a suite's tests: it writes each verdict down at once, so a crash loses none."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

import pytest

from musasim import tally
from outside import harness

_RESULTS = Path(os.environ["OUTSIDE_RESULTS"])
DONE = frozenset(Path(os.environ["OUTSIDE_DONE"]).read_text(encoding="utf-8").splitlines())
_EVERY = int(os.environ.get("OUTSIDE_EVERY", "0"))
_SMALLEST = int(os.environ.get("OUTSIDE_SMALLEST", "0"))
#: Verdicts from the strongest on: a test that fails in its teardown has failed.
_RANK = ("failed", "skipped", "xfailed", "passed")


def pytest_configure(config: pytest.Config) -> None:
    """Before the tests are imported."""
    tally.begin()
    harness.prepare()


@pytest.hookimpl(trylast=True)  # -k has taken its tests then, so a sample is of those
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what has its verdict already, and, of a sample, what is not part of it."""
    if os.environ["OUTSIDE_HARNESS"] == "torchada_cuda_only":
        items[:] = [item for item in items if harness.concerns_cuda(item.name, _source(item))]
    if os.environ["OUTSIDE_HARNESS"] == "torchada_devices":
        items[:] = [item for item in items if harness.is_for_cuda(item)]
    if 0 < _EVERY < len(items):
        step = len(items) / _EVERY
        items[:] = [items[int(i * step)] for i in range(_EVERY)]
    if _SMALLEST:
        items[:] = harness.smallest(items, _SMALLEST)
    write(collected=len(items))
    items[:] = [item for item in items if item.nodeid not in DONE]


def _source(item: pytest.Item) -> str:
    import inspect

    try:
        return inspect.getsource(item.obj)  # type: ignore[attr-defined]
    except (AttributeError, OSError, TypeError):
        return ""


def pytest_collectreport(report: pytest.CollectReport) -> None:
    """A file that cannot be imported is one failure."""
    if report.failed:
        write(test=report.nodeid, verdict="failed", error=_message(report))
    elif report.skipped:
        write(test=report.nodeid, verdict="skipped", error=_message(report))


_verdicts: dict[str, tuple[str, str]] = {}
#: Of each test that runs, how many operators the device had computed before.
_before: dict[str, int] = {}


def pytest_runtest_logstart(nodeid: str, location: Any) -> None:
    """So that the parent knows whose fault it is if this process dies now."""
    write(test=nodeid, began=True)
    _before[nodeid] = _operators()


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Called for set-up, call and teardown of each test."""
    verdict = "xfailed" if hasattr(report, "wasxfail") and not report.failed else report.outcome
    previous = _verdicts.get(report.nodeid, ("passed", ""))
    if _RANK.index(verdict) < _RANK.index(previous[0]):
        _verdicts[report.nodeid] = (verdict, _message(report))
    if report.when == "teardown":
        verdict, error = _verdicts.pop(report.nodeid, ("passed", ""))
        operators = _operators() - _before.pop(report.nodeid, 0)
        write(test=report.nodeid, verdict=verdict, error=error, operators=operators)


def _operators() -> int:
    """How many operators and kernels this process has had the simulated device compute."""
    counted = tally.read()
    return counted.operators.total() + counted.kernels.total()


def _message(report: pytest.TestReport | pytest.CollectReport) -> str:
    """One line: the message of the exception, without addresses, which differ from run to run."""
    longrepr = report.longrepr
    if isinstance(longrepr, tuple):
        text = longrepr[2]
    elif hasattr(longrepr, "reprcrash") and longrepr.reprcrash is not None:
        text = longrepr.reprcrash.message
    else:
        text = "\n".join([line[2:] for line in str(longrepr).splitlines() if line.startswith("E ")][-2:])
    return one_line(str(text))


def one_line(text: str) -> str:
    """A message without what differs from run to run, and not too long."""
    line = re.sub(r"0x[0-9a-f]{6,}", "0x..", " ".join(text.split()))
    # What another process raised is told with its traceback before it.
    return line if len(line) <= 800 else f"{line[:400]} ... {line[-400:]}"


def write(**entry: object) -> None:
    with _RESULTS.open("a", encoding="utf-8") as file:
        file.write(json.dumps(entry) + "\n")
