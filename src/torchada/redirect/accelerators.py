"""Lightning's accelerators for CUDA ask for a device whose type is called "cuda"; its three packages have the same class."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torchada.redirect.calls import disguise
from torchada.redirect.context import Context
from torchada.redirect.engine import Patch


def setup_device(context: Context, accelerator: type, why: str) -> Patch:
    """`accelerator.setup_device`, which takes the backend's devices too."""
    return Patch(accelerator, "setup_device", _setup_device(context, vars(accelerator)["setup_device"]), why)


def _setup_device(context: Context, original: Callable[..., None]) -> Callable[..., None]:
    device_type, cuda = context.backend.device_type, context.torch.cuda

    # Besides the check, the original advises NVIDIA's newer GPUs to use TF32.
    def setup_device(self: Any, device: Any) -> None:
        if device.type == device_type:
            cuda.set_device(device)
        else:
            original(self, device)

    return disguise(setup_device, original)
