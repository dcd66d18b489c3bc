"""torch.export.passes.move_to_device_pass: from and to devices that are called by CUDA's names."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from torchada.redirect.context import Context
from torchada.redirect.engine import Patch
from torchada.redirect.entry_point import EntryPoint


def patches(context: Context) -> Iterator[Patch]:
    import torch.export.passes as passes

    call = _move(context, passes.move_to_device_pass)
    yield Patch(passes, "move_to_device_pass", call, 'torch.export.passes.move_to_device_pass(program, "cuda")')


def _move(context: Context, original: Callable[..., Any]) -> EntryPoint:
    translate = context.devices.translate

    def move_to_device_pass(ep: Any, location: Any, *args: Any, **kwargs: Any) -> Any:
        """The keys of a table are compared with the text of the devices in the program."""
        if isinstance(location, dict):
            location = {translate(old): translate(new) for old, new in location.items()}
        return original(ep, translate(location), *args, **kwargs)

    return EntryPoint(original, move_to_device_pass)
