"""The extension builder, and two of the porting tools: `simple_porting` and `musa_converter`."""

from importlib import import_module
from typing import Any


def __getattr__(name: str) -> Any:
    """Import the builder and its two main names on first use, because they import setuptools."""
    if name not in ("BuildExtension", "MUSAExtension", "musa_extension"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    builder = import_module(f"{__name__}.musa_extension")
    return builder if name == "musa_extension" else getattr(builder, name)
