"""The input from which an area builds its patches."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import TYPE_CHECKING

from torchada.redirect.device_names import DeviceNames
from torchada.redirect.native import Mechanism, choose
from torchada.views import Views
from torchada.views.state import PROCESS

if TYPE_CHECKING:
    from torchada.backends.descriptor import Backend
    from torchada.base.settings import Settings
    from torchada.redirect.types import Namespace


class Context:
    """`torch` and `namespace` (torch.musa) are the live modules; `devices` translates device strings and objects,
    and follows from the others. Two contexts with the same of these are equal: the same patches fit both.

    `mechanism` says what translates device strings that are passed to torch: its own parser, or the areas at each call. `views`
    says which code sees CUDA, and which the backend.
    """

    def __init__(
        self,
        backend: Backend,
        settings: Settings,
        torch: ModuleType,
        namespace: Namespace,
        devices: DeviceNames,
        mechanism: Mechanism,
        views: Views,
    ) -> None:
        self.backend = backend
        self.settings = settings
        self.torch = torch
        self.namespace = namespace
        self.devices = devices
        self.mechanism = mechanism
        self.views = views

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Context) and self._identity == other._identity

    @property
    def _identity(self) -> tuple[object, ...]:
        return self.backend, self.settings, self.torch, self.namespace, self.mechanism

    @property
    def version(self) -> str:
        """The version of torchada."""
        from torchada.base.version import __version__

        return __version__

    @classmethod
    def of(cls, backend: Backend, settings: Settings, *, late: bool = False) -> Context:
        """The context of a process in which torch and the backend's adapter have been imported."""
        torch = sys.modules["torch"]
        namespace: Namespace = getattr(torch, backend.namespace)
        mechanism = choose(
            settings.native,
            torch,
            backend.device_type,
            late=late,
            recorded_for=settings.recorded_for,
            computes_on=backend.computes_on,
        )
        views = Views(settings, backend.adapter, backend, PROCESS)
        devices = DeviceNames(torch, backend.computes_on or backend.device_type)
        return cls(backend, settings, torch, namespace, devices, mechanism, views)


class EarlyContext(Context):
    """What areas of modules that need no torch are given where torch has not been imported: nothing else is known yet."""

    def __init__(self, backend: Backend, settings: Settings) -> None:
        self.backend = backend
        self.settings = settings

    @property
    def _identity(self) -> tuple[object, ...]:
        return self.backend, self.settings
