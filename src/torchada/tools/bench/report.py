"""A run of benchmarks, and its report as data (schema `torchada-bench`)."""

from __future__ import annotations

import os
import platform
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from torchada.report import schemas
from torchada.tools.runner.child import Ended
from torchada.tools.runner.progress import shown, until_interrupted
from torchada.tools.runner.session import Program, Session

Document = dict[str, Any]
_FOUND: Document = {
    "outcome": "",
    "detail": "",
    "size": None,
    "amount": None,
    "device": None,
    "cpu": None,
    "ratio": None,
}


class NoSuchBenchmark(ValueError):
    """A name that is no benchmark, nor the beginning of the names of some."""


def run(seconds: float, only: Sequence[str], variables: Mapping[str, str]) -> Document:
    """The report of a run with about so many seconds for each benchmark. Raises NoSuchBenchmark."""
    try:
        session = Session(Program("torchada.tools.bench.worker", (str(seconds),), variables))
    except Ended as ended:
        return _document(ended.as_surroundings(), seconds, only, [])
    with session:
        chosen = choose(session.greeting["tasks"], only)
        answers = session.run([] if session.greeting["problem"] else chosen)
        measured = (_row(task, answer) for task, answer in shown(answers, [task["name"] for task in chosen]))
        rows, interrupted = until_interrupted(measured, len(chosen), "benchmark")
    return _document(session.greeting, seconds, only, rows, interrupted)


def choose(every: Sequence[Document], only: Sequence[str]) -> list[Document]:
    """The benchmarks that `only` names, by a name or its beginning (`matmul`); with nothing named, all."""
    chosen = {name: [task for task in every if f"{task['name']}.".startswith(f"{name}.")] for name in only}
    for name, tasks in chosen.items():
        if not tasks:
            raise NoSuchBenchmark(f"{name}: expected one of {', '.join(task['name'] for task in every)}")
    return [task for task in every if not only or any(task in tasks for tasks in chosen.values())]


def exit_code(document: Document) -> int:
    """0: everything was measured; 1: something failed; 2: nothing could be measured."""
    return 2 if document["problem"] else 0 if document["ok"] else 1


def _row(task: Document, answer: Document) -> Document:
    measured = {name: answer.get(name, default) for name, default in _FOUND.items()}
    return {**{name: task[name] for name in ("name", "what", "unit")}, **measured}


def _document(
    greeting: Document, seconds: float, only: Sequence[str], rows: Sequence[Document], interrupted: str = ""
) -> Document:
    surroundings = {name: value for name, value in greeting.items() if name != "tasks"}
    return {
        **schemas.envelope("bench"),
        **surroundings,
        "processor": _processor(),
        "cores": len(os.sched_getaffinity(0)),
        "seconds_each": seconds,
        "only": list(only),
        "interrupted": interrupted,
        "ok": not greeting["problem"] and not interrupted and all(row["outcome"] == "measured" for row in rows),
        "benchmarks": list(rows),
    }


def _processor() -> str:
    """The CPU's name, as Linux tells it."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        lines = []
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.machine())
