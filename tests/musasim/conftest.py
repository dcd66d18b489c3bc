"""The simulation, for tests in this folder that run in the test process itself."""

from __future__ import annotations

from typing import Any

import pytest


@pytest.fixture(scope="session")
def torch_musa() -> Any:
    """torch_musa as a program imports it, with initialised devices."""
    import musasim

    musasim.install()
    import torch
    import torch_musa

    torch.zeros(1, device="musa")
    return torch_musa
