"""Runs tasks, each in a process that is there for it, whatever those before have done to theirs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from torchada.tools.runner.child import Answer, Ended, Process

_TO_START = 600  # seconds: the simulator may have to be compiled


class Program(NamedTuple):
    """The module to run as `python -m`, its arguments and its variables."""

    module: str
    arguments: Sequence[str]
    variables: Mapping[str, str]

    def start(self) -> Process:
        """A new process of it."""
        return Process(*self)


class Session:
    """A process that has greeted: `greeting` says which tasks there are. Raises Ended where it has not come so far."""

    def __init__(self, program: Program) -> None:
        self._program = program
        self._process: Process | None = program.start()
        self.greeting = self._greeting(self._process)

    def _greeting(self, process: Process) -> Answer:
        try:
            return process.greeting(_TO_START)
        except BaseException:
            process.end()
            raise

    def run(self, tasks: Sequence[Answer]) -> Iterator[tuple[Answer, Answer]]:
        """Each task with what came of it. A task has a "name" and a "limit" in seconds.

        The answer of a task whose process has ended has the entries "outcome", "detail" and "log" alone.
        """
        for task in tasks:
            yield task, self._answer(task)

    def _answer(self, task: Answer) -> Answer:
        try:
            if self._process is None:
                self._process = self._program.start()
                self._process.greeting(_TO_START)
            answer = self._process.ask(task["name"], task["limit"])
        except Ended as ended:
            self._process = None
            return {"outcome": ended.outcome, "detail": ended.detail, "log": ended.log}
        if not answer.pop("is_usable", True):
            self.end()
        return answer

    def end(self) -> None:
        """End the process; the next task gets a new one."""
        if self._process is not None:
            self._process.end()
            self._process = None

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *_: Any) -> None:
        self.end()
