"""Tensor.cuda, .cpu, .to, .type and what else takes a device: a move from the CPU to the device or back is a copy, as on CUDA."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from torchada.areas.host._out_of_memory import answering
from torchada.areas.host._places import CPU, Places, places_of
from torchada.areas.host._targets import Targets
from torchada.redirect.calls import disguise, keyword, method
from torchada.redirect.context import Context
from torchada.redirect.engine import Patch
from torchada.redirect.namespaces import takes_device
from torchada.redirect.type_names import LegacyTypes

if TYPE_CHECKING:
    from torchada.redirect.types import AnyFunction, Tensor

_METHODS_WITHOUT_SCHEMA = ("new_tensor", "new")
_OWN = frozenset({"to", "cpu", "cuda", "type", "pin_memory", "is_pinned"})


def patches(context: Context) -> Iterator[Patch]:
    tensor, devices, places = context.torch.Tensor, context.devices, places_of(context.torch)
    for name in dir(context.torch._C.TensorBase):
        if name not in _OWN and (takes_device(context.torch, name) or name in _METHODS_WITHOUT_SCHEMA):
            yield Patch(tensor, name, _new(context, places, name), f'Tensor.{name}(device="cuda")')
    for name in ("_make_wrapper_subclass", "_make_dtensor"):
        if hasattr(tensor, name):
            make = staticmethod(keyword(getattr(tensor, name), devices))
            yield Patch(tensor, name, make, f'Tensor.{name}(device="cuda")')
    moves = Moves(context, places)
    yield Patch(tensor, "to", disguise(_plain(moves.to), tensor.to, "Tensor.to"), 'Tensor.to("cuda")')
    yield Patch(tensor, "cuda", disguise(_plain(moves.cuda), tensor.cuda, "Tensor.cuda"), "Tensor.cuda()")
    yield Patch(tensor, "cpu", disguise(_plain(moves.cpu), tensor.cpu, "Tensor.cpu"), None, note="x.cpu() is a copy")
    yield Patch(tensor, "type", _type(context), 'Tensor.type("torch.cuda.FloatTensor")')


def _new(context: Context, places: Places, name: str) -> AnyFunction:
    """Tensor.new_zeros and its like: on the device that is given, or where the tensor itself is."""
    original: Callable[..., Any] = getattr(context.torch.Tensor, name)
    translated, targets = method(original, context.devices), Targets(context, places)
    answer = answering(context)

    def call(self: Tensor, *args: Any, **kwargs: Any) -> Any:
        kwargs.pop("pin_memory", None)
        device = kwargs.get("device")
        index = None if device is None else targets.index(device)
        if type(device) is int:
            kwargs["device"] = "cuda"
        try:
            made = translated(self, *args, **kwargs)
        except RuntimeError as error:
            answer(error, targets.where(self) if device is None else index)
            raise
        if device is None:
            index = places.of(self)
            return made if index is None else places.put(made, index)
        return made if index is None else targets.arrived(made, index)

    return disguise(call, original, f"Tensor.{name}")


def _plain(call: AnyFunction) -> Callable[..., Any]:
    """A function, because a method of an object would not be bound to the tensor."""

    def bound(self: Tensor, *args: Any, **kwargs: Any) -> Any:
        return call(self, *args, **kwargs)

    return bound


class Moves:
    """What moves a tensor from one place to another, or leaves it where it is."""

    def __init__(self, context: Context, places: Places) -> None:
        torch = context.torch
        self._torch, self._places, self._targets = torch, places, Targets(context, places)
        self._to: Callable[..., Tensor] = torch._C.TensorBase.to
        self._cpu, self._preserve = torch.device("cpu"), torch.preserve_format
        self._overridden = torch._C._has_torch_function_unary
        self._handle, self._answer = torch.overrides.handle_torch_function, answering(context)

    def to(self, tensor: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        """Tensor.to, in all its forms: a device, a type, both, or another tensor."""
        if not args:
            given = next((name for name in ("device", "other") if name in kwargs), None)
            args = () if given is None else (kwargs.pop(given),)
        index = self._targets.index(args[0]) if args else None
        if index is None:
            return self._as_it_is(tensor, args, kwargs)
        if isinstance(args[0], self._torch.Tensor):
            moved = self._to(tensor, *args, **kwargs)
        else:
            moved = self._to(tensor, self._cpu, *args[1:], **kwargs)
        return self._arrived(tensor, moved, index)

    def cuda(self, tensor: Tensor, device: Any = None, non_blocking: bool = False, memory_format: Any = None) -> Tensor:
        """Tensor.cuda. Raises RuntimeError for a device that is not CUDA's or that does not exist."""
        memory_format = self._preserve if memory_format is None else memory_format
        if self._overridden(tensor):
            arguments = {"device": device, "non_blocking": non_blocking, "memory_format": memory_format}
            handled: Tensor = self._handle(self._torch.Tensor.cuda, (tensor,), tensor, **arguments)
            return handled
        index = self._targets.index("cuda" if device is None else device)
        if index is None or index == CPU:
            raise RuntimeError("Invalid device, must be cuda device")  # torch's own words
        return self._arrived(tensor, self._to(tensor, self._cpu, memory_format=memory_format), index)

    def cpu(self, tensor: Tensor, memory_format: Any = None) -> Tensor:
        """Tensor.cpu."""
        memory_format = self._preserve if memory_format is None else memory_format
        if self._overridden(tensor):
            handled: Tensor = self._handle(self._torch.Tensor.cpu, (tensor,), tensor, memory_format=memory_format)
            return handled
        return self._arrived(tensor, self._to(tensor, self._cpu, memory_format=memory_format), CPU)

    def _as_it_is(self, tensor: Tensor, args: Any, kwargs: Any) -> Tensor:
        """A change of the type, or a move to a device of another kind."""
        made = self._to(tensor, *args, **kwargs)
        place = None if made is tensor or not made.is_cpu else self._places.of(tensor)
        return made if place is None else self._places.put(made, place)

    def _arrived(self, tensor: Tensor, moved: Tensor, index: int) -> Tensor:
        """`moved`, which is `tensor` itself where torch had nothing to do; a copy where it comes from another place."""
        if moved is tensor:
            if not tensor.is_cpu or self._targets.where(tensor) == index or self._torch.nn.parameter.is_lazy(tensor):
                return tensor
            try:
                moved = tensor.clone()
            except RuntimeError as error:
                self._answer(error, index)
                raise
        self._targets.arrived(moved, index)
        return moved


def _type(context: Context) -> AnyFunction:
    """Tensor.type, with the names of CUDA's types."""
    original, names, places = context.torch.Tensor.type, LegacyTypes(context), places_of(context.torch)

    def type(self: Tensor, dtype: Any = None, non_blocking: bool = False, **kwargs: Any) -> Any:
        if dtype is None:
            name: str = original(self, **kwargs)
            return name if places.of(self) == CPU or not self.is_cpu else name.replace("torch.", "torch.cuda.", 1)
        scalar_type = names.scalar_type(dtype)
        if scalar_type is not None:
            return self.to("cuda", scalar_type, non_blocking)
        if isinstance(dtype, context.torch.dtype):
            return original(self, dtype, non_blocking, **kwargs)
        return places.put(original(self.cpu(), dtype, non_blocking, **kwargs), CPU)  # torch.FloatTensor is the CPU's

    return disguise(type, original)
