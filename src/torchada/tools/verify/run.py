"""A run: the checks that are chosen, one after the other."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence

from torchada.tools.runner.child import Ended
from torchada.tools.runner.progress import shown, until_interrupted
from torchada.tools.runner.session import Program, Session
from torchada.tools.verify import report
from torchada.tools.verify.expected_failures import judged
from torchada.tools.verify.report import Document

LEVELS = ("quick", "standard", "full")


class NoSuchCheck(ValueError):
    """A name that is no check, nor the beginning of the names of some."""


def run(level: str, only: Sequence[str], variables: Mapping[str, str]) -> Document:
    """The report of a run in a process with these variables. Raises NoSuchCheck."""
    begin = time.monotonic()
    try:
        session = _session(variables)
    except Ended as ended:
        return report.document(ended.as_surroundings(), level, only, [], time.monotonic() - begin)
    with session:
        chosen = choose(session.greeting["tasks"], level, only)
        answers = session.run([] if session.greeting["problem"] else chosen)
        platform = session.greeting["platform"]["name"]
        judged_rows = (
            report.row(task, judged(platform, task["name"], answer))
            for task, answer in shown(answers, [task["name"] for task in chosen])
        )
        rows, interrupted = until_interrupted(judged_rows, len(chosen), "check")
    return report.document(session.greeting, level, only, rows, time.monotonic() - begin, interrupted)


def tasks(variables: Mapping[str, str], level: str, only: Sequence[str]) -> list[Document]:
    """The checks that a run would make. Raises NoSuchCheck, and Ended where they cannot be listed."""
    with _session(variables) as session:
        return choose(session.greeting["tasks"], level, only)


def _session(variables: Mapping[str, str]) -> Session:
    return Session(Program("torchada.tools.verify.worker", (), variables))


def choose(every: Sequence[Document], level: str, only: Sequence[str]) -> list[Document]:
    """The checks of a level that `only` names: a group, a subject (`pointwise.add`) or a check; with nothing named, all.

    A check that is named in full is chosen whatever its level is.
    """
    for name in only:
        if not any(_is_within(task["name"], name) for task in every):
            raise NoSuchCheck(f"{name}: expected a group such as pointwise, or a check such as pointwise.add.float32")
    levels = LEVELS[: LEVELS.index(level) + 1]
    return [
        task
        for task in every
        if task["name"] in only
        or (task["level"] in levels and (not only or any(_is_within(task["name"], name) for name in only)))
    ]


def _is_within(check: str, name: str) -> bool:
    return check == name or check.startswith(f"{name}.")
