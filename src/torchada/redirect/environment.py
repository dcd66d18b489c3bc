"""CUDA_VISIBLE_DEVICES, and the backend's variable of that kind, which follows it."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TypeAlias

from torchada import _settings

Text: TypeAlias = str | bytes
SOURCE = "CUDA_VISIBLE_DEVICES"


class Mirror:
    """CUDA_VISIBLE_DEVICES alone sets `variable`; a value that the user gave to `variable` itself is never changed."""

    def __init__(self, variable: str) -> None:
        self.variable = variable

    def bring_up_to_date(self) -> None:
        """Copy CUDA_VISIBLE_DEVICES, or remove our copy if CUDA_VISIBLE_DEVICES is no longer set."""
        self._follow(os.environ.get(SOURCE))

    def take_back(self) -> None:
        """Remove what we have set."""
        self._follow(None)

    def putenv(self, original: Callable[[Text, Text], None]) -> Callable[[Text, Text], None]:
        """os.putenv that follows CUDA_VISIBLE_DEVICES."""

        def putenv(key: Text, value: Text) -> None:
            original(key, value)
            if os.fsdecode(key) == SOURCE:
                self._follow(os.fsdecode(value))

        return putenv

    def unsetenv(self, original: Callable[[Text], None]) -> Callable[[Text], None]:
        """os.unsetenv that follows CUDA_VISIBLE_DEVICES."""

        def unsetenv(key: Text) -> None:
            original(key)
            if os.fsdecode(key) == SOURCE:
                self._follow(None)

        return unsetenv

    def _follow(self, wanted: str | None) -> None:
        # Child processes inherit the value that we have set, and a new CUDA_VISIBLE_DEVICES replaces it there too.
        own, ours = os.environ.get(self.variable), _settings.VISIBLE_DEVICES.read()
        if own is not None and own != ours:
            return  # the user has set it
        if wanted is not None:
            os.environ[self.variable] = wanted
            _settings.VISIBLE_DEVICES.write(wanted)
        elif ours is not None:
            os.environ.pop(self.variable, None)
            _settings.VISIBLE_DEVICES.write(None)


def visible_devices(variable: str) -> list[int] | list[str] | None:
    """The devices that `variable` leaves visible, in the form of torch.cuda._parse_visible_devices; None if it is not set.

    Numbers, or identifiers unchanged; a repeated number hides every device, as in CUDA.
    """
    value = os.environ.get(variable)
    if value is None:
        return None
    entries = [entry.strip() for entry in value.split(",")]
    if not all(entry.isdigit() for entry in entries):
        return [entry for entry in entries if entry and not entry.startswith("-")]
    numbers = [int(entry) for entry in entries]
    return numbers if len(set(numbers)) == len(numbers) else []
