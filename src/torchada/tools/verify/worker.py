"""`python -m torchada.tools.verify.worker`: the process in which `torchada verify` runs its checks."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from torchada.redirect.unsupported import UnsupportedError
from torchada.tools.runner.worker import Answer, serve

if TYPE_CHECKING:
    from torch_battery.check import Check


@cache
def _checks() -> dict[str, Check]:
    import torch_battery

    return {check.name: check for check in torch_battery.checks()}


def tasks() -> list[Answer]:
    """All checks, as they are described in the report."""
    return [_described(check) for check in _checks().values()]


def _described(check: Check) -> Answer:
    return {
        "name": check.name,
        "group": check.group,
        "subject": check.subject,
        "dtype": check.dtype or None,
        "level": check.level,
        "tolerance": check.tolerance._asdict() if check.tolerance else None,
        "limit": check.limit,
    }


def act(name: str) -> Answer:
    """Run one check."""
    from torch_battery.execute import execute

    return execute(_checks()[name], UnsupportedError)._asdict()


if __name__ == "__main__":
    serve(tasks, act)
