"""DLPack, and CUDA's array interface, which tensors of the device do not have.

In DLPack these devices are of the type "extension". Libraries that read CUDA's memory refuse them, and do not read from addresses
that are not valid in CUDA.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from torchada.redirect.calls import disguise
from torchada.redirect.context import Context
from torchada.redirect.engine import Patch

if TYPE_CHECKING:
    from torch.utils.dlpack import DLDeviceType

    from torchada.redirect.types import R, Tensor

# CUDA's numbers for streams in DLPack.
_NO_STREAM, _AMBIGUOUS, _DEFAULT_STREAM, _PER_THREAD_STREAM = -1, 0, 1, 2
_OTHER_DEVICE = "Can't export tensors on a different CUDA device index"


def patches(context: Context) -> Iterator[Patch]:
    tensor = context.torch.Tensor
    yield Patch(tensor, "__dlpack__", _dlpack(context, tensor.__dlpack__), None, note="Tensor.__dlpack__(stream=)")
    device = _dlpack_device(context, tensor.__dlpack_device__)
    yield Patch(tensor, "__dlpack_device__", device, None, note="torch.from_dlpack of a CUDA tensor")
    interface = _array_interface(context, vars(tensor)["__cuda_array_interface__"])
    note = "the address of a tensor is not valid in a library for CUDA"
    yield Patch(tensor, "__cuda_array_interface__", interface, "Tensor.__cuda_array_interface__", note=note)


def _dlpack(context: Context, original: Callable[..., R]) -> Callable[..., R]:
    device_type = context.backend.device_type
    default = inspect.signature(original).parameters["stream"].default
    of_the_current_device_only = _refuses_other_devices(original)

    def __dlpack__(self: Tensor, *args: Any, **kwargs: Any) -> R:
        capsule = original(self, *args, **kwargs)
        if self.device.type == device_type:
            if of_the_current_device_only:
                _refuse_another_device(self.device.index, context.namespace.current_device())
            stream = args[0] if args else kwargs.get("stream", default)
            # In older releases None is the default and means no synchronization; in newer ones it means the default stream.
            if stream != _NO_STREAM and not (stream is None and default is None):
                _wait_on(context, stream)
        return capsule

    return disguise(__dlpack__, original, "Tensor.__dlpack__")


def _refuses_other_devices(original: Callable[..., object]) -> bool:
    """Whether this torch exports tensors of CUDA's current device alone: its code then has the message for other devices."""
    code = getattr(inspect.unwrap(original), "__code__", None)
    return code is not None and any(isinstance(const, str) and _OTHER_DEVICE in const for const in code.co_consts)


def _refuse_another_device(index: int, current: int) -> None:
    if index != current:
        raise BufferError(f"{_OTHER_DEVICE}. Expected: {index}. Current device: {current}.")


def _wait_on(context: Context, number: int | None) -> None:
    """Make the consumer's stream wait for the current one."""
    namespace = context.namespace
    if number == _PER_THREAD_STREAM:
        raise BufferError("per-thread default stream is not supported.")
    if number == _AMBIGUOUS:
        raise AssertionError(f"unsupported stream on CUDA: {number}.")
    consumer = (
        namespace.default_stream() if number is None or number == _DEFAULT_STREAM else namespace.ExternalStream(number)
    )
    current = namespace.current_stream()
    if consumer != current:
        consumer.wait_event(current.record_event())


def _dlpack_device(
    context: Context, original: Callable[[Tensor], tuple[DLDeviceType, int]]
) -> Callable[[Tensor], tuple[DLDeviceType, int]]:
    device_type = context.backend.device_type

    def __dlpack_device__(self: Tensor) -> tuple[DLDeviceType, int]:
        if self.device.type != device_type:
            return original(self)
        from torch.utils.dlpack import DLDeviceType

        return DLDeviceType.kDLExtDev, self.device.index or 0

    return disguise(__dlpack_device__, original, "Tensor.__dlpack_device__")


def _array_interface(context: Context, original: property) -> property:
    get, name = original.fget, context.backend.name.upper()
    assert get is not None

    def __cuda_array_interface__(self: Tensor) -> object:
        if self.device.type == context.backend.device_type:
            raise AttributeError(f"Can't get __cuda_array_interface__ on a tensor in the memory of a {name} device")
        return get(self)

    return property(disguise(__cuda_array_interface__, get, "Tensor.__cuda_array_interface__"))
