"""What the functions of an adapter's classes take, which differs between its releases."""

from __future__ import annotations

from collections.abc import Callable
from inspect import signature
from typing import Any

Method = Callable[..., Any]  # of a class whose attributes depend on the adapter


def takes(function: Method, parameter: str) -> bool:
    """Whether `function` has `parameter`: newer adapters have some that older ones lack."""
    return parameter in signature(function).parameters
