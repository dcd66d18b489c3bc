"""The simulation, for tests in this folder that run in the test process itself."""

from __future__ import annotations

import importlib.util
import sys
import types
import unittest
from typing import Any

import pytest


@pytest.fixture(scope="session")
def torch_musa() -> Any:
    """torch_musa as a program gets it, with the devices initialised."""
    import musasim

    musasim.install()
    import torch_musa

    torch_musa.init() if hasattr(torch_musa, "init") else torch_musa.core._lazy_init._lazy_init()
    return torch_musa


def stand_in_for_expecttest() -> None:
    """PyTorch's operator database imports expecttest for a base class that these tests never use."""
    if "expecttest" not in sys.modules and importlib.util.find_spec("expecttest") is None:
        module = types.ModuleType("expecttest")
        module.TestCase = unittest.TestCase  # type: ignore[attr-defined]
        sys.modules["expecttest"] = module
