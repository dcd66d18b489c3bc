"""Environment variables of CUDA's that are kept in step with the backend's: visible devices, the allocator, collectives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

F = TypeVar("F", bound=Callable[..., Any])


def in_os(function: F) -> F:
    """`function`, which stands in the place of os's function of that name, where pickle looks for it."""
    function.__module__, function.__qualname__ = "os", function.__name__
    return function
