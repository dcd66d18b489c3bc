"""What is wrong with a cache."""

from __future__ import annotations


class CacheError(OSError):
    """A cache cannot be used. The message names the folder, the reason, and the variable that chooses another one."""


class UnsafeError(Exception):
    """Another user could have written what we would execute; the message contains no advice yet."""
