"""torch.utils.checkpoint keeps the device's random state only where the device's module says, by `_initialized`, that it is in use.

torch.cuda's flag is for ever False here, and the backend's may be a copy from the time of its import. Believed, either makes the
recomputation draw other dropout masks: wrong gradients, and no message.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from torchada.redirect.calls import disguise
from torchada.redirect.context import Context
from torchada.redirect.engine import Patch


def patches(context: Context) -> Iterator[Patch]:
    import torch.utils.checkpoint as checkpoint

    find = _get_device_module(context, checkpoint._get_device_module)
    yield Patch(
        checkpoint, "_get_device_module", find, None, note="torch.utils.checkpoint keeps the random state of cuda"
    )


class _Live:
    """The namespace, with a flag `_initialized` that is asked when it is read."""

    def __init__(self, namespace: Any) -> None:
        self._namespace = namespace

    @property
    def _initialized(self) -> bool:
        return bool(self._namespace.is_initialized())

    def __getattr__(self, name: str) -> Any:
        return getattr(self._namespace, name)


def _get_device_module(context: Context, original: Callable[..., Any]) -> Callable[..., Any]:
    ours, live = ("cuda", context.backend.device_type), _Live(context.namespace)

    def _get_device_module(device: str = "cuda") -> Any:
        return live if device in ours else original(device)

    return disguise(_get_device_module, original)
