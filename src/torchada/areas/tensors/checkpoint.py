"""torch.utils.checkpoint keeps the device's random state only if the attribute `_initialized` of the device's module is true.

torch.cuda's flag is always False here, and the backend's may be a copy that was made at its import. With either value the
recomputation would draw other dropout masks: the gradients would be wrong, without any message.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from torchada.redirect.calls import disguise
from torchada.redirect.context import Context
from torchada.redirect.engine import Patch
from torchada.redirect.kept_names import name_by_view

if TYPE_CHECKING:
    from torchada.redirect.types import Namespace


def patches(context: Context) -> Iterator[Patch]:
    import torch.utils.checkpoint as checkpoint

    find = _get_device_module(context, checkpoint._get_device_module)
    yield Patch(
        checkpoint, "_get_device_module", find, None, note="torch.utils.checkpoint keeps the random state of cuda"
    )
    default = checkpoint.DefaultDeviceType
    get_type = staticmethod(name_by_view(context, default.get_device_type))
    yield Patch(default, "get_device_type", get_type, "torch.utils.checkpoint.DefaultDeviceType.get_device_type")
    infer = name_by_view(context, checkpoint._infer_device_type)
    yield Patch(checkpoint, "_infer_device_type", infer, None, note="torch.utils.checkpoint._infer_device_type")


class _Live:
    """The namespace, with an attribute `_initialized` that is computed each time it is read."""

    def __init__(self, namespace: Namespace) -> None:
        self._namespace = namespace

    @property
    def _initialized(self) -> bool:
        return bool(self._namespace.is_initialized())

    def __getattr__(self, name: str) -> object:
        return getattr(self._namespace, name)


def _get_device_module(context: Context, original: Callable[[str], object]) -> Callable[[str], object]:
    ours, live = ("cuda", context.backend.device_type), _Live(context.namespace)

    def _get_device_module(device: str = "cuda") -> object:
        return live if device in ours else original(device)

    return disguise(_get_device_module, original)
