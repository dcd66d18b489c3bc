"""The groups of programs. The defaults come first, before a program can have changed them."""

from __future__ import annotations

from typing import Protocol

from torch_battery import (
    checkpoints,
    collectives,
    compiled,
    defaults,
    gradients,
    graphs,
    mixed,
    optimizers,
    randomness,
    streams,
    training,
    transfers,
)
from torch_battery.table import Program


class Group(Protocol):
    """A module with a table."""

    GROUP: str
    TABLE: list[Program]


GROUPS: tuple[Group, ...] = (
    defaults,
    transfers,
    randomness,
    gradients,
    mixed,
    optimizers,
    graphs,
    streams,
    checkpoints,
    training,
    collectives,
    compiled,
)
