"""Tables of checks that are programs of their own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from torch_battery.check import Check, Level, Tolerance


class Program(NamedTuple):
    """`run` is a program written for CUDA, which raises Wrong where something is not as it has to be.

    `tolerance` is what it compares with, for the report; the other entries are those of a Check.
    """

    subject: str
    run: Callable[[], float | None]
    level: Level = "standard"
    tolerance: Tolerance | None = None
    devices: int = 1
    limit: float = 60


def checks(group: str, table: list[Program]) -> Iterator[Check]:
    """A check for each row."""
    for row in table:
        yield Check(group, row.subject, row.level, row.run, "", row.tolerance, row.devices, row.limit)
