"""Code that asks, as a frame shows it: its globals, and what an answer to it is remembered under."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Globals = Mapping[str, Any]


def key_of(namespace: Globals) -> str:
    """What the answer to a module is remembered under: its file, because several modules may share a name; otherwise its name."""
    file = namespace.get("__file__")
    if type(file) is str:
        return file
    name = namespace.get("__name__")
    return name if type(name) is str else ""
