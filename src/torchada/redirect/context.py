"""What an area is handed to build its patches from."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from torchada._settings import Settings
from torchada.backends.descriptor import Backend
from torchada.redirect.devices import DeviceNames


@dataclass(frozen=True)
class Context:
    """`torch` and `namespace` (torch.musa) are the live modules; `devices` translates device strings and objects."""

    backend: Backend
    settings: Settings
    torch: Any
    namespace: Any
    devices: DeviceNames

    @classmethod
    def of(cls, backend: Backend, settings: Settings) -> Context:
        """The context of a process in which torch and the backend's adapter have been imported."""
        torch: ModuleType = sys.modules["torch"]
        namespace = getattr(torch, backend.namespace)
        return cls(backend, settings, torch, namespace, DeviceNames(torch, backend.device_type))
