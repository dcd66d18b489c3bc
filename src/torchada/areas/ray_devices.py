"""Ray Train's loaders: `prepare_data_loader` looks its way of copying up by the type of the device, among those Ray knows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from torchada.redirect.calls import disguise
from torchada.redirect.context import Context
from torchada.redirect.engine import Patch


def patches(context: Context) -> Iterator[Patch]:
    # The modules that use it take the name from here when they are imported, which is later.
    import ray.air._internal.device_manager as managers

    name = "get_torch_device_manager_by_device_type"
    by_type = _by_type(context.backend.device_type, getattr(managers, name))
    yield Patch(managers, name, by_type, "ray.train.torch.prepare_data_loader")


def _by_type(own: str, original: Callable[[str], Any]) -> Callable[[str], Any]:
    def get_torch_device_manager_by_device_type(device_type: str) -> Any:
        return original("cuda" if device_type == own else device_type)

    return disguise(get_torch_device_manager_by_device_type, original)
