"""Environment variables of builds, which are not ours: where a toolkit is, and what to compile for."""

from __future__ import annotations

import os


def variable(name: str) -> str | None:
    """The value of an environment variable; None where it is not set or empty."""
    return os.environ.get(name) or None
