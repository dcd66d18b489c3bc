"""Tensor.cuda, .to, .type, .is_cuda, .pin_memory and every other tensor method that takes a device."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from inspect import getattr_static
from types import FunctionType
from typing import TYPE_CHECKING

from torchada.redirect.calls import disguise, keyword, method
from torchada.redirect.context import Context
from torchada.redirect.engine import Patch
from torchada.redirect.namespaces import takes_device
from torchada.redirect.type_names import LegacyTypes

if TYPE_CHECKING:
    from torchada.redirect.types import AnyFunction, Device, DeviceLike, Tensor

# new_tensor and Tensor.new have no schema.
_METHODS_WITHOUT_SCHEMA = ("new_tensor", "new")


def patches(context: Context) -> Iterator[Patch]:
    tensor, devices = context.torch.Tensor, context.devices
    yield from _names(tensor)
    for name in () if context.mechanism.native else _device_methods(context):
        call = method(getattr(tensor, name), devices, path=f"Tensor.{name}")
        yield Patch(tensor, name, call, f'Tensor.{name}(device="cuda")')
    for name in () if context.mechanism.native else _static_methods(tensor):
        make = staticmethod(keyword(getattr(tensor, name), devices))
        yield Patch(tensor, name, make, f'Tensor.{name}(device="cuda")')
    yield Patch(tensor, "cuda", _cuda(context), "Tensor.cuda()")
    yield Patch(tensor, "is_cuda", _is_cuda(context), "Tensor.is_cuda")
    yield Patch(tensor, "type", _type(context), 'Tensor.type("torch.cuda.FloatTensor")')


def _names(tensor: type[Tensor]) -> Iterator[Patch]:
    """torch_musa's own method in the place of torch's is called `_to`. __torch_function__ is handed it; PyPose's goes by names."""
    own = vars(tensor).get("to")
    if isinstance(own, FunctionType) and own.__name__ != "to":
        # Pickle goes by __qualname__, which stays.
        yield Patch(own, "__name__", "to", None, note="the name of Tensor.to")


def _device_methods(context: Context) -> Iterator[str]:
    for name in dir(context.torch._C.TensorBase):
        if takes_device(context.torch, name) or name in _METHODS_WITHOUT_SCHEMA:
            yield name


def _static_methods(tensor: type[Tensor]) -> Iterator[str]:
    """Names of the functions that make tensors of a subclass that wraps other tensors."""
    return (name for name in ("_make_wrapper_subclass", "_make_dtensor") if hasattr(tensor, name))


def _cuda(context: Context) -> Callable[..., Tensor]:
    torch, device_type = context.torch, context.backend.device_type
    overridden = torch._C._has_torch_function_unary
    handle: Callable[..., Tensor] = torch.overrides.handle_torch_function
    preserve, current = torch.preserve_format, torch.device(device_type)
    known: dict[object, Device] = {}
    remembered = frozenset({int, str, torch.device})  # not their subclasses, nor a float, which equals an int

    def find(device: DeviceLike) -> Device:
        target: Device = torch.device(device)
        if target.type != device_type:
            raise RuntimeError("Invalid device, must be cuda device")  # torch's own words
        if type(device) in remembered:
            known[device] = target
        return target

    # Not Tensor.to: CUDA's own does not call a method that a subclass may have overridden.
    to: Callable[..., Tensor] = torch._C.TensorBase.to

    def cuda(
        self: Tensor, device: DeviceLike = None, non_blocking: bool = False, memory_format: object = preserve
    ) -> Tensor:
        if overridden(self):
            arguments = {"device": device, "non_blocking": non_blocking, "memory_format": memory_format}
            return handle(torch.Tensor.cuda, (self,), self, **arguments)
        target = current
        if device is not None:
            target = known.get(device) if type(device) in remembered else None
            if target is None:
                target = find(device)
        if non_blocking or memory_format is not preserve:
            return to(self, target, non_blocking=non_blocking, memory_format=memory_format)
        return to(self, target)

    return disguise(cuda, torch._C.TensorBase.cuda, "Tensor.cuda")


def _is_cuda(context: Context) -> object:
    # The very property that code for the backend reads, so both cost the same.
    # On torch.Tensor where an adapter has put it there, on its base for the devices that PyTorch knows itself.
    return getattr_static(context.torch.Tensor, f"is_{context.backend.device_type}")


def _type(context: Context) -> AnyFunction:
    original, names = context.torch.Tensor.type, LegacyTypes(context)

    def type(self: Tensor, dtype: object = None, non_blocking: bool = False, **kwargs: object) -> object:
        if dtype is None:
            return names.as_cuda(original(self, **kwargs))
        scalar_type = names.scalar_type(dtype)
        if scalar_type is not None:
            return self.to(context.backend.device_type, scalar_type, non_blocking)
        if isinstance(dtype, str) and dtype.startswith("torch.cuda.") and not dtype.startswith("torch.cuda.sparse."):
            raise ValueError(f"invalid type: {dtype!r}")  # a build for CUDA would look for NVIDIA's driver
        return original(self, dtype, non_blocking, **kwargs)

    return disguise(type, original, "Tensor.type")
