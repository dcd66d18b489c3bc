"""Registrations with PyTorch's dispatcher that wait until the program first uses the device."""

from __future__ import annotations

from collections.abc import Callable

# What registers the fallback of a dispatch key, while nobody has needed it.
_WAITING: dict[str, Callable[[], None]] = {}


def defer(key: str, register: Callable[[], None]) -> bool:
    """Let `register` wait for `begin(key)`. Whether it is the first that waits."""
    is_first = not _WAITING
    _WAITING[key] = register
    return is_first


def begin(key: str) -> None:
    """Register what waits for `key`, if anything does, so that the dispatcher answers as it will from now on."""
    register = _WAITING.pop(key, None)
    if register is not None:
        register()


def begin_all() -> None:
    """The device is used for the first time: register everything that waits."""
    for key in list(_WAITING):
        begin(key)


def forget(key: str) -> None:
    """What waits for `key` is not wanted any more."""
    _WAITING.pop(key, None)
