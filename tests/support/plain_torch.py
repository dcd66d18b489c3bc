"""torch_musa by itself: the pytest process is redirected by torchada, of which the tests in this folder want nothing."""

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
