"""Tests about a release of torch_musa, on a torch that is older than the release takes."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.metadata import version

import pytest

from musasim.base import release


def skip_on_older_torch(environment: Mapping[str, str]) -> None:
    """Skip the test if the release that its processes are to simulate cannot be imported on the torch under test."""
    name, torch = environment.get("MUSASIM_RELEASE", ""), version("torch")
    if name in release.OLDEST_TORCH and not release.takes(name, torch):
        pytest.skip(f"torch_musa {name} needs torch {release.OLDEST_TORCH[name]}, and this is {torch}")
