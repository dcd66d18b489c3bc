"""What code sees of a device: its `type`, `str`, `repr` and `format` say "cuda" to code that knows CUDA alone.

Code that knows MUSA, torch itself and its adapter see the backend's name, because they compare it with their own. The devices are
the same objects for everybody; equality, hash and pickles do not depend on who looks at them.
"""

from __future__ import annotations

from collections.abc import Iterator

from torchada.redirect import device_texts
from torchada.redirect.context import Context
from torchada.redirect.engine import Patch, Skip
from torchada.redirect.native import device_views as native
from torchada.redirect.slots import TP_REPR, TP_STR, Slot

_SLOTS = {"tp_str": TP_STR, "tp_repr": TP_REPR}


def patches(context: Context) -> Iterator[Patch]:
    device = context.torch.device
    made, how = _made(context)
    for name, entry in made.descriptors.items():
        api = "torch.device.type" if name == "type" else None
        yield Patch(device, name, entry, api, note=f"torch.device.{name} by who asks, {how}", to='"cuda"')
    for name, address in made.slots.items():
        yield Patch(Slot(device, _SLOTS[name]), name, address, None, note=f"{name} of torch.device by who asks, {how}")


def _made(context: Context) -> tuple[native.Texts, str]:
    """The functions, and in what they are written. In any doubt, Python's."""
    torch, device_type, views = context.torch, context.backend.device_type, context.views
    if context.mechanism.native:
        try:
            return native.texts(torch, device_type, views), "in C"
        except (ImportError, RuntimeError, Skip) as error:
            why = f"in Python: {error}"
    else:
        why = "in Python"
    made = native.Texts(device_texts.descriptors(torch.device, device_type, views), device_texts.slots(torch.device))
    return made, why
