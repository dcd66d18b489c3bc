"""torch.distributed.rpc between devices: TensorPipe, its transport, supports only the memory of CUDA and of the CPU."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from torchada.redirect.calls import disguise
from torchada.redirect.context import Context
from torchada.redirect.engine import Patch, Skip
from torchada.redirect.unsupported import error

if TYPE_CHECKING:
    from torchada.redirect.types import DeviceLike, R

    Devices = list[DeviceLike] | dict[DeviceLike, DeviceLike]

_WHY = "TensorPipe moves only the memory of CUDA's own devices and of the CPU; send tensors as x.cpu(), without device maps"


def patches(context: Context) -> Iterator[Patch]:
    distributed = context.torch.distributed
    if not distributed.is_available() or not distributed.rpc.is_available():
        raise Skip("torch was built without torch.distributed.rpc")
    options = distributed.rpc.options
    for name, argument in (("_to_device_map", "device_maps"), ("_to_device_list", "devices")):
        api = f"torch.distributed.rpc.TensorPipeRpcBackendOptions({argument}=)"
        yield Patch(options, name, _refusing(context, getattr(options, name), api), api, kind="unsupported")


def _refusing(context: Context, original: Callable[[Devices], R], api: str) -> Callable[[Devices], R]:
    device, own = context.torch.device, context.backend.device_type

    def convert(devices: Devices) -> R:
        named = [*devices, *devices.values()] if isinstance(devices, dict) else list(devices)
        if any(device(entry).type == own for entry in named):
            raise error(context, api, _WHY)
        return original(devices)

    return disguise(convert, original)
