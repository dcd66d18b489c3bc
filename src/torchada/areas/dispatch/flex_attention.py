"""flex_attention's list of devices: what it does in eager mode is made of operators that every device has."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from torchada.redirect.calls import disguise
from torchada.redirect.context import Context
from torchada.redirect.engine import Patch


def patches(context: Context) -> Iterator[Patch]:
    import torch.nn.attention.flex_attention as flex

    check = _validate_device(context, flex._validate_device)
    yield Patch(flex, "_validate_device", check, None, note="the list of devices of flex_attention")


def _validate_device(context: Context, original: Callable[..., None]) -> Callable[..., None]:
    device_type = context.backend.device_type

    def _validate_device(query: Any, *rest: Any, **kwargs: Any) -> None:
        if query.device.type != device_type:
            original(query, *rest, **kwargs)

    return disguise(_validate_device, original)
