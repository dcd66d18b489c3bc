"""torch_musa by itself: torchada redirects the pytest process, which the tests in this folder must not see."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True, scope="module")
def plain_torch() -> Iterator[None]:
    """In force in every module that imports this name."""
    torchada = sys.modules.get("torchada")
    if torchada is None:
        yield
        return
    with torchada.disabled():
        yield
