"""PyTorch's operator database imports expecttest, which nothing here uses."""

from __future__ import annotations

import importlib.util
import sys
import types
import unittest


def stand_in_for_expecttest() -> None:
    """PyTorch's operator database imports expecttest for a base class that these tests never use."""
    if "expecttest" not in sys.modules and importlib.util.find_spec("expecttest") is None:
        module = types.ModuleType("expecttest")
        module.TestCase = unittest.TestCase  # type: ignore[attr-defined]
        sys.modules["expecttest"] = module
