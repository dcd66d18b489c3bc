"""A stand-in for expecttest, which PyTorch's operator database imports and no test here uses."""

from __future__ import annotations

import importlib.util
import sys
import types
import unittest


def stand_in_for_expecttest() -> None:
    """Install the stand-in: the operator database needs only a base class of expecttest, which these tests never use."""
    if "expecttest" not in sys.modules and importlib.util.find_spec("expecttest") is None:
        module = types.ModuleType("expecttest")
        module.TestCase = unittest.TestCase  # type: ignore[attr-defined]
        sys.modules["expecttest"] = module
