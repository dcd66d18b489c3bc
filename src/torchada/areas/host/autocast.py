"""torch.is_autocast_enabled() and its like without a device type ask for CUDA's state, which is the CPU's here."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from torchada.redirect.calls import disguise
from torchada.redirect.context import Context
from torchada.redirect.engine import Patch


def patches(context: Context) -> Iterator[Patch]:
    torch = context.torch
    asked = disguise(_for_the_cpu(torch.is_autocast_enabled), torch.is_autocast_enabled)
    for owner in (torch, torch._C):
        yield Patch(owner, "is_autocast_enabled", asked, "torch.is_autocast_enabled")


def _for_the_cpu(original: Callable[..., Any]) -> Callable[..., Any]:
    def is_autocast_enabled(device_type: str = "cpu") -> Any:
        return original(device_type)

    return is_autocast_enabled
