"""torch.export.passes.move_to_device_pass: from and to devices that are given by CUDA's names."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from torchada.redirect.context import Context
from torchada.redirect.engine import Patch
from torchada.redirect.entry_point import EntryPoint

if TYPE_CHECKING:
    import torch
    from torch.export import ExportedProgram


def patches(context: Context) -> Iterator[Patch]:
    import torch.export.passes as passes

    call = _move(context, passes.move_to_device_pass)
    yield Patch(passes, "move_to_device_pass", call, 'torch.export.passes.move_to_device_pass(program, "cuda")')


def _move(context: Context, original: Callable[..., ExportedProgram]) -> EntryPoint:
    translate = context.devices.translate

    def move_to_device_pass(
        ep: ExportedProgram, location: torch.device | str | dict[str, str], *args: object, **kwargs: object
    ) -> ExportedProgram:
        """torch compares the keys of a table with the names of the devices in the program."""
        if isinstance(location, dict):
            location = {translate(old): translate(new) for old, new in location.items()}
        return original(ep, translate(location), *args, **kwargs)

    return EntryPoint(original, move_to_device_pass)
