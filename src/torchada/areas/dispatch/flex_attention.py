"""flex_attention's list of supported devices: in eager mode it consists of operators that every device has."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from torchada.redirect.calls import disguise
from torchada.redirect.context import Context
from torchada.redirect.engine import Patch

if TYPE_CHECKING:
    import torch


def patches(context: Context) -> Iterator[Patch]:
    import torch.nn.attention.flex_attention as flex

    check = _validate_device(context, flex._validate_device)
    yield Patch(flex, "_validate_device", check, None, note="the list of devices of flex_attention")


def _validate_device(context: Context, original: Callable[..., None]) -> Callable[..., None]:
    device_type = context.backend.device_type

    def _validate_device(query: torch.Tensor, *rest: object, **kwargs: object) -> None:
        if query.device.type != device_type:
            original(query, *rest, **kwargs)

    return disguise(_validate_device, original)
