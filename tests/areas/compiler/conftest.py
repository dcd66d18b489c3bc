"""What tests of compiled code share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch


@pytest.fixture
def compiled_anew() -> Iterator[None]:
    """What a test has compiled is compiled anew by the next one."""
    yield
    torch._dynamo.reset()
