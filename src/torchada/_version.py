"""Versions that compare with strings, by the module that they have in torchada 0.1 after 0.1.103.

`version_of(torch_musa) < "2.11.0.post2"`: the local part (`+musa5.2`) does not count, and a version that is unknown is the lowest.
"""

from __future__ import annotations

from functools import total_ordering
from typing import Any

__all__ = ["VersionComparison", "version_of"]


@total_ordering
class VersionComparison:
    """The version of a package, as `raw` text; None where it is not known."""

    __slots__ = ("_key", "raw")

    def __init__(self, source: object) -> None:
        is_text = source is None or isinstance(source, str)
        self.raw = source if is_text else getattr(source, "raw", getattr(source, "__version__", None))
        self._key = _public(self.raw)

    @property
    def is_known(self) -> bool:
        """Whether it is a version by PEP 440."""
        return self._key is not None

    def __eq__(self, other: object) -> bool:
        return bool(self._rank() == VersionComparison(other)._rank())

    def __lt__(self, other: object) -> bool:
        return bool(self._rank() < VersionComparison(other)._rank())

    def __hash__(self) -> int:
        return hash(self._rank())

    def __repr__(self) -> str:
        return f"VersionComparison({self.raw!r})" if self.is_known else f"VersionComparison(unknown ({self.raw!r}))"

    def _rank(self) -> Any:
        return _public("0") if self._key is None else self._key


def version_of(source: object) -> VersionComparison:
    """The version of `source`: a text, None, or what has a `__version__`."""
    return source if isinstance(source, VersionComparison) else VersionComparison(source)


def _public(text: object) -> Any:
    """What PyTorch's copy of packaging reads in the text; None where it is no version."""
    from torch._vendor.packaging.version import InvalidVersion, Version

    try:
        return Version(str(text or "").partition("+")[0].strip())
    except InvalidVersion:
        return None
