"""The variables of builds, which are not ours: where a toolkit is, for what to compile, where caches are."""

from __future__ import annotations

import os
from pathlib import Path

from torchada.building.errors import BuildError


def variable(name: str) -> str | None:
    """The value of an environment variable; None where it is not set or empty."""
    return os.environ.get(name) or None


def cache_folder() -> Path:
    """The user's folder for caches."""
    base = variable("XDG_CACHE_HOME")
    try:
        return Path(base) if base else Path.home() / ".cache"
    except RuntimeError as error:  # no home folder
        raise BuildError(f"no folder for caches ({error}); set XDG_CACHE_HOME") from error
