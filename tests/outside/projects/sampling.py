"""A plugin of pytest: of the tests that were collected OUTSIDE_SAMPLE, evenly spread."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pytest


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Of a sample, the same tests are taken each time."""
    size = int(os.environ.get("OUTSIDE_SAMPLE", "0"))
    if 0 < size < len(items):
        items[:] = [items[int(i * len(items) / size)] for i in range(size)]
