"""Which torch, torch_musa, MUSA SDK and Python belong together, from the vendor's public sources."""

from __future__ import annotations

from typing import NamedTuple

_REPOSITORY = "https://github.com/MooreThreads/torch_musa"


class Pair(NamedTuple):
    """Versions that belong together, each by its first numbers. Empty: the sources do not say."""

    adapter: str
    torch: str
    sdk: str
    python: str
    source: str


# The newest first. The first whose `adapter` begins the installed version is the one that counts.
PAIRS = (
    Pair("2.11", "2.11", "", "", f"{_REPOSITORY}: the version of the adapter follows torch's from 2.5 on"),
    Pair("2.9", "2.9.1", "5.1", "3.10", f"{_REPOSITORY}/issues/138"),
    Pair("2.7", "2.7.1", "4.3", "3.10", f"{_REPOSITORY}/issues/135; torch_musa/__init__.py at v2.7.1"),
    Pair("2.5", "2.5.0", "", "3.10", f"{_REPOSITORY}/blob/v2.5.0/README.md"),
    Pair("2.1", "2.5.0", "4.2", "3.10", f"{_REPOSITORY}/blob/v2.1.1/README.md"),
    Pair("2.0", "2.2.0", "4.0", "3.10", f"{_REPOSITORY}/blob/v2.0.0/README.md"),
    Pair("1.3", "2.2.0", "3.1", "3.10", f"{_REPOSITORY}/blob/v1.3.2/README.md; issue 87"),
    Pair("1.2", "2.0.0", "", "", f"{_REPOSITORY}/blob/v1.2.1/README.md"),
    Pair("1.1", "2.0.0", "2.1", "", f"{_REPOSITORY}/blob/v1.1.0/README.md"),
)


def pair_of(adapter: str) -> Pair | None:
    """The versions that belong to this version of the adapter."""
    return next((pair for pair in PAIRS if begins(adapter, pair.adapter)), None)


def begins(version: str, first: str) -> bool:
    """Whether a version begins with these numbers: 2.7.1+cpu with 2.7, and 2.70 not."""
    return numbers(version)[: len(numbers(first))] == numbers(first)


def numbers(version: str) -> list[str]:
    """The numbers at the start of a version: of 2.7.1rc1+cpu, 2, 7 and 1."""
    release = version.partition("+")[0]
    parsed = []
    for part in release.split("."):
        digits = ""
        for sign in part:
            if not sign.isdigit():
                break
            digits += sign
        if not digits:
            break
        parsed.append(digits)
    return parsed
