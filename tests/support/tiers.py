"""Which cases of a parametrized test are left to the nightly run."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest


def rarely(cases: Iterable[Any], *chosen: object) -> list[Any]:
    """`cases`, with `chosen` among the slow tests; each of those has to be a case."""
    found = list(cases)
    assert set(chosen) <= set(found), chosen
    return [pytest.param(case, marks=pytest.mark.slow) if case in chosen else case for case in found]
