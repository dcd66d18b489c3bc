"""What a check is: a record that says what is run, when, and how exact the answer has to be."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NamedTuple

Level = Literal["quick", "standard", "full"]
# `python -m` looks for modules in the current folder first, and a file of the user's must not be taken for a library's.
HOME = Path(__file__).resolve().parents[1]


class Tolerance(NamedTuple):
    """A number x may differ from the expected y by `absolute + relative * abs(y)`."""

    relative: float
    absolute: float

    def times(self, slack: float) -> Tolerance:
        """A tolerance that allows `slack` times as much."""
        return Tolerance(self.relative * slack, self.absolute * slack)


# Against a reference in double precision. Integers and bools have to be equal.
TOLERANCES = {
    "float64": Tolerance(1e-7, 1e-7),
    "float32": Tolerance(1.3e-6, 1e-5),
    "float16": Tolerance(1e-3, 1e-3),
    "bfloat16": Tolerance(1.6e-2, 1e-2),
    "complex64": Tolerance(1.3e-6, 1e-5),
}
EXACT = Tolerance(0, 0)


class Wrong(Exception):
    """The device's answer is not the expected one."""


class NotHere(Exception):
    """The check cannot be made on this machine; the text says why."""


@dataclass(frozen=True)
class Check:
    """`program` raises Wrong where the answer is wrong. It returns the largest error as a share of what is allowed, or None.

    `dtype` is empty where a check is of no data type, `tolerance` None where nothing is compared within one. The check needs
    `devices` devices, and ends with a failure after `limit` seconds.
    """

    group: str
    subject: str
    level: Level
    program: Callable[[], float | None]
    dtype: str = ""
    tolerance: Tolerance | None = None
    devices: int = 1
    limit: float = 60

    @property
    def name(self) -> str:
        """The name by which a check is chosen and reported: `pointwise.add.float32`."""
        return ".".join(filter(None, (self.group, self.subject, self.dtype)))


def expect(holds: bool, otherwise: str) -> None:
    """Raise Wrong(otherwise) unless `holds`."""
    if not holds:
        raise Wrong(otherwise)
