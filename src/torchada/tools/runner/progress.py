"""Progress on standard error, where that is a terminal; and what is kept where Ctrl-C ends a run."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from typing import TypeVar

from torchada.report.terminal import FRESH_LINE, Terminal
from torchada.report.text import counted

T = TypeVar("T")


def shown(items: Iterable[T], names: list[str]) -> Iterator[T]:
    """The items as they come; meanwhile one line says which of `names` is next."""
    stream = sys.stderr
    if not stream.isatty():
        yield from items
        return
    room = Terminal(stream).width - 1
    waiting = iter(enumerate(names, 1))

    def show() -> None:
        number, name = next(waiting, (0, ""))
        text = f"{number}/{len(names)}  {name}" if number else ""
        stream.write(f"{FRESH_LINE}{text[:room]}")
        stream.flush()

    show()
    try:
        for item in items:
            yield item
            show()
    finally:
        stream.write(FRESH_LINE)
        stream.flush()


def until_interrupted(items: Iterable[T], number: int, noun: str) -> tuple[list[T], str]:
    """The items that came before a Ctrl-C, and where it ended them ("after 3 of 10 checks"); empty where it did not."""
    finished: list[T] = []
    try:
        finished.extend(items)
    except KeyboardInterrupt:
        return finished, f"after {len(finished)} of {counted(number, noun)}"
    return finished, ""
