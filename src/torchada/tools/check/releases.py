"""The releases of torch_musa whose answers are known, and which of them a check is about."""

from __future__ import annotations

import re

RELEASES = ("2.7.1", "2.9.1", "2.11.0")
NEWEST = RELEASES[-1]


def installed() -> str:
    """The release that belongs to the installed torch_musa, which is not imported; the newest where there is none."""
    from importlib import metadata

    try:
        version = metadata.version("torch_musa")
    except (metadata.PackageNotFoundError, ValueError):  # a ValueError: a distribution without a name
        return NEWEST
    return belonging_to(version)


def belonging_to(version: str) -> str:
    """The newest known release that is not newer than `version`; the oldest where all are, and the newest for no version."""
    numbers = _numbers(version)
    older = [release for release in RELEASES if _numbers(release) <= numbers]
    return (older or RELEASES[:1])[-1] if numbers else NEWEST


def _numbers(version: str) -> tuple[int, ...]:
    match = re.match(r"\d+(?:\.\d+)*", version or "")
    return tuple(map(int, match[0].split("."))) if match else ()
