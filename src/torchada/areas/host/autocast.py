"""torch.is_autocast_enabled() and its like without a device type mean CUDA's state, which is the CPU's here."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from torchada.redirect.calls import disguise
from torchada.redirect.context import Context
from torchada.redirect.engine import Patch
from torchada.redirect.script_builtins import ScriptBuiltins


def patches(context: Context) -> Iterator[Patch]:
    torch = context.torch
    asked = disguise(_asked_of_the_cpu(torch.is_autocast_enabled), torch.is_autocast_enabled)
    put = disguise(_set_for_the_cpu(torch.set_autocast_enabled), torch.set_autocast_enabled)
    for owner in (torch, torch._C):
        yield Patch(owner, "is_autocast_enabled", asked, "torch.is_autocast_enabled")
        yield Patch(owner, "set_autocast_enabled", put, "torch.set_autocast_enabled")
    # A script asks for CUDA's own state, which is never on here. The CPU's would not do: torch 2.13 ends the process where a script
    # asks for a state that is on, for either device.
    yield Patch(ScriptBuiltins(torch), "builtins", True, None, note="torch.is_autocast_enabled in TorchScript")


def _asked_of_the_cpu(original: Callable[..., Any]) -> Callable[..., Any]:
    def is_autocast_enabled(device_type: str = "cpu") -> Any:
        return original(device_type)

    return is_autocast_enabled


def _set_for_the_cpu(original: Callable[..., None]) -> Callable[..., None]:
    """`set_autocast_enabled(True)` or `(enabled=True)`, which torch has deprecated, and the form with a device type."""

    def set_autocast_enabled(*args: Any, **kwargs: Any) -> None:
        if len(args) + len(kwargs) == 1:
            original("cpu", *args, **kwargs)
        else:
            original(*args, **kwargs)

    return set_autocast_enabled
