"""torch.Stream and torch.Event for the device, and Tensor.record_stream, which has nothing to wait for: memory of the host is given
back when nobody uses it, whatever stream it was used on."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from torchada.redirect.calls import disguise
from torchada.redirect.constructors import New, redirect_new
from torchada.redirect.context import Context
from torchada.redirect.engine import Patch
from torchada.redirect.unsupported import unsupported

if TYPE_CHECKING:
    from torchada.redirect.types import Tensor

_CUDA = 1  # among PyTorch's device types


def patches(context: Context) -> Iterator[Patch]:
    torch = context.torch
    namespace: Any = context.namespace
    for general, make in ((torch.Stream, namespace.Stream), (torch.Event, namespace.Event._on)):
        yield from redirect_new(general, _of_the_device(context, general, make), f'torch.{general.__name__}("cuda")')
        name, own = f"_Cuda{general.__name__}Base", getattr(namespace, general.__name__)
        yield Patch(torch._C, name, own, f"torch._C.{name}")
    yield from _of_one_process(context, namespace.Event)
    tensor = torch.Tensor

    def record_stream(self: Tensor, stream: object) -> None:
        if not isinstance(stream, namespace.Stream):
            raise TypeError(f"record_stream: expected a torch.cuda.Stream, but got {stream!r}")

    replacement = disguise(record_stream, tensor.record_stream, "Tensor.record_stream")
    yield Patch(tensor, "record_stream", replacement, "Tensor.record_stream", kind="emulated", to="nothing to wait for")


def _of_one_process(context: Context, event: type) -> Iterator[Patch]:
    why = "an event of the host is known to its own process alone; use torch.multiprocessing.Event"
    for name, wrap in (("ipc_handle", lambda function: function), ("from_ipc_handle", classmethod)):
        api = f"torch.cuda.Event.{name}"
        yield Patch(event, name, wrap(unsupported(context, api, why)), api, "unsupported")


def _of_the_device(context: Context, general: type, make: Callable[..., Any]) -> Callable[[New], New]:
    """torch.Stream("cuda") is a torch.cuda.Stream, and so is one without a device, which is the accelerator's for torch."""
    table = context.devices.table

    def redirected(construct: New) -> New:
        def __new__(cls: type, *args: Any, device: Any = None, **kwargs: Any) -> Any:
            given = args[0] if len(args) == 1 else device
            is_ours = given is None or type(given) is int or given in table
            if cls is not general or len(args) > 1 or kwargs.get("device_type", _CUDA) != _CUDA or not is_ours:
                return construct(cls, *args, **kwargs, **({} if device is None else {"device": device}))
            kwargs.pop("device_type", None)
            return make(given, **kwargs)

        return __new__

    return redirected
