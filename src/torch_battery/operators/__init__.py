"""Operators by group: one table in each file."""

from __future__ import annotations

from collections.abc import Iterator

from torch_battery.check import Check
from torch_battery.operator import checks as checks_of
from torch_battery.operators import (
    algebra,
    attention,
    conversions,
    convolution,
    embedding,
    indexing,
    losses,
    normalisation,
    pointwise,
    reductions,
    sorting,
)

_TABLES = (
    pointwise,
    reductions,
    algebra,
    convolution,
    normalisation,
    indexing,
    sorting,
    attention,
    embedding,
    losses,
    conversions,
)


def checks() -> Iterator[Check]:
    """The checks of all tables."""
    for module in _TABLES:
        yield from checks_of(module.GROUP, module.TABLE)
