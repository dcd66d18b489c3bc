"""What the functions of an adapter's classes take, which differs between its releases."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from inspect import signature
from typing import Any

Method = Callable[..., Any]  # of a class whose attributes depend on the adapter


def takes(function: Method, parameter: str) -> bool:
    """Whether `function` has `parameter`: newer adapters have some that older ones lack."""
    return parameter in _parameters(function)


@cache
def _parameters(function: Method) -> frozenset[str]:
    return frozenset(signature(function).parameters)
