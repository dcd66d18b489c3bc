"""CUDA_VISIBLE_DEVICES and the backend's variable of that kind, kept in step."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from torchada import _settings

SOURCE = "CUDA_VISIBLE_DEVICES"


class Mirror:
    """CUDA_VISIBLE_DEVICES alone means `variable`; a value the user gave to `variable` itself is never touched."""

    def __init__(self, variable: str) -> None:
        self.variable = variable

    def bring_up_to_date(self) -> None:
        """Copy CUDA_VISIBLE_DEVICES over, or take back our copy where it is no longer set."""
        self._follow(os.environ.get(SOURCE))

    def take_back(self) -> None:
        """Remove what we have set."""
        self._follow(None)

    def putenv(self, original: Callable[[Any, Any], None]) -> Callable[[Any, Any], None]:
        """os.putenv that follows CUDA_VISIBLE_DEVICES."""

        def putenv(key: Any, value: Any) -> None:
            original(key, value)
            if os.fsdecode(key) == SOURCE:
                self._follow(os.fsdecode(value))

        return putenv

    def unsetenv(self, original: Callable[[Any], None]) -> Callable[[Any], None]:
        """os.unsetenv that follows CUDA_VISIBLE_DEVICES."""

        def unsetenv(key: Any) -> None:
            original(key)
            if os.fsdecode(key) == SOURCE:
                self._follow(None)

        return unsetenv

    def _follow(self, wanted: str | None) -> None:
        # What we have set ourselves is inherited by child processes: there, too, it gives way to a new CUDA_VISIBLE_DEVICES.
        own, ours = os.environ.get(self.variable), _settings.VISIBLE_DEVICES.read()
        if own is not None and own != ours:
            return  # the user's own
        if wanted is not None:
            os.environ[self.variable] = wanted
            _settings.VISIBLE_DEVICES.write(wanted)
        elif ours is not None:
            os.environ.pop(self.variable, None)
            _settings.VISIBLE_DEVICES.write(None)


def visible_devices(variable: str) -> list[int] | list[str] | None:
    """What `variable` leaves visible, in torch.cuda._parse_visible_devices' terms; None where it is not set.

    Numbers, or identities as they stand; a repeated number hides every device, as in CUDA.
    """
    value = os.environ.get(variable)
    if value is None:
        return None
    entries = [entry.strip() for entry in value.split(",")]
    if not all(entry.isdigit() for entry in entries):
        return [entry for entry in entries if entry and not entry.startswith("-")]
    numbers = [int(entry) for entry in entries]
    return numbers if len(set(numbers)) == len(numbers) else []
