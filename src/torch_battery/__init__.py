"""Programs written for CUDA whose right answers are known, to see whether a device gives them.

It knows CUDA alone, like the programs that it stands for, and names neither another device nor what lets one answer to "cuda".
`checks()` is the list.
"""

from __future__ import annotations

from collections.abc import Iterator

from torch_battery.check import Check


def checks() -> Iterator[Check]:
    """All checks, in the order in which they are run."""
    from torch_battery import operators, table
    from torch_battery.groups import GROUPS

    first, *others = GROUPS
    yield from table.checks(first.GROUP, first.TABLE)
    yield from operators.checks()
    for module in others:
        yield from table.checks(module.GROUP, module.TABLE)
