"""Checkpoints: they are written with CUDA's tags, so that a CUDA machine can read them, and read with these or the backend's."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from torchada.redirect.calls import disguise
from torchada.redirect.context import Context
from torchada.redirect.engine import Patch
from torchada.redirect.owners import Members

if TYPE_CHECKING:
    import torch

    from torchada.redirect.types import HasDevice, Tensor

    Validate = Callable[[str, str], torch.device]
    Reduced = tuple[object, tuple[object, ...]]  # what __reduce_ex__ returns

# In the place of CUDA's own entry, which has 20; torch_musa's has 999. No program has the same, which would compare functions.
_PRIORITY = 19.5


def patches(context: Context) -> Iterator[Patch]:
    serialization = context.torch.serialization
    registry = Members(serialization, "_package_registry", lambda entry: bool(entry[0] > _PRIORITY))
    package = (_PRIORITY, _tagger(context), _deserializer(context))
    yield Patch(registry, "cuda", package, None, note='torch.load of "cuda:N", torch.save with such tags')
    tensor = context.torch.Tensor
    reduce = _reduce(context, tensor._reduce_ex_internal)
    yield Patch(tensor, "_reduce_ex_internal", reduce, None, note="torch.save of sparse tensors, with cuda's tag")
    if "_validate_device" in vars(serialization):
        validate = _validate_device(context, serialization._validate_device)
        yield Patch(serialization, "_validate_device", validate, 'torch.serialization.validate_cuda_device("cuda:0")')


def _tagger(context: Context) -> Callable[[HasDevice], str | None]:
    device_type = context.backend.device_type

    def cuda_tag(storage: HasDevice) -> str | None:
        device = storage.device
        return f"cuda:{device.index}" if device.type == device_type else None

    return cuda_tag


def _deserializer(context: Context) -> Callable[[torch.UntypedStorage, str], object]:
    location_of = rf"(?:cuda|{context.backend.device_type})(?::(\d+))?"

    def cuda_deserialize(storage: torch.UntypedStorage, location: str) -> object:
        match = re.fullmatch(location_of, location)
        if match is None and location.startswith("cuda"):
            context.torch.device(location)  # refuses a misspelt device in torch's words, as on CUDA
        return storage.to(device=_device(context, location, match[1])) if match else None

    return cuda_deserialize


def _reduce(context: Context, original: Callable[[Tensor, int], Reduced]) -> Callable[[Tensor, int], Reduced]:
    """PyTorch saves a tensor without a storage, such as a sparse one, on such a device with the device's name as a string."""
    device_type = context.backend.device_type

    def _reduce_ex_internal(self: Tensor, proto: int) -> Reduced:
        rebuild, args = original(self, proto)
        if self.device.type != device_type:
            return rebuild, args
        own, tag = str(self.device), f"cuda:{self.device.index}"
        return rebuild, tuple(tag if isinstance(value, str) and value == own else value for value in args)

    return disguise(_reduce_ex_internal, original)


def _device(context: Context, location: str, index: str | None) -> torch.device:
    """The device of a location tag. If it does not exist, a RuntimeError says what to do, as on CUDA."""
    namespace = context.namespace
    if not namespace.is_available():
        raise RuntimeError(
            f"Attempting to deserialize object on CUDA device {location!r} but no {context.backend.name} device is available. "
            "Please use torch.load with map_location=torch.device('cpu') to map your storages to the CPU."
        )
    return _existing(context, namespace.current_device() if index is None else int(index))


def _existing(context: Context, number: int) -> torch.device:
    """The backend's device `number`. If it does not exist, a RuntimeError says what to do, as on CUDA."""
    count = context.namespace.device_count()
    if number >= count:
        raise RuntimeError(
            f"Attempting to deserialize object on CUDA device {number} but torch.cuda.device_count() is {count}. "
            "Please use torch.load with map_location to map your storages to an existing device."
        )
    device: torch.device = context.torch.device(context.backend.device_type, number)
    return device


def _validate_device(context: Context, original: Validate) -> Validate:
    """Code with a format of its own for checkpoints asks so. torch's function asks torch.cuda.is_available() for itself."""
    cuda, namespace = context.torch.cuda, context.namespace

    def _validate_device(location: str, backend_name: str) -> torch.device:
        if backend_name != "cuda" or not namespace.is_available():
            return original(location, backend_name)
        return _existing(context, cuda._get_device_index(location, True))

    return disguise(_validate_device, original)
