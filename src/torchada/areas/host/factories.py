"""Functions that make tensors: on the device for "cuda", and otherwise on the CPU, which is remembered."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from torchada.areas.host._out_of_memory import answering
from torchada.areas.host._places import CPU, Places, places_of
from torchada.areas.host._targets import Targets
from torchada.redirect.calls import Function, disguise
from torchada.redirect.context import Context
from torchada.redirect.engine import Patch
from torchada.redirect.factories import replacing
from torchada.redirect.namespaces import device_position, takes_device

_OF_THE_CPU = ("from_numpy", "frombuffer", "from_dlpack", "from_file")
# Given tensors and no device, these make the result where the tensors are. as_tensor and asarray may return the tensor itself.
_OF_TENSORS = frozenset({"normal", "tensor", "as_tensor", "asarray"})


def patches(context: Context) -> Iterator[Patch]:
    torch, places = context.torch, places_of(context.torch)
    targets = Targets(context, places)
    yield from replacing(torch, lambda name, function: _made(context, places, targets, name, function))
    for name in _OF_THE_CPU:
        original = getattr(torch, name, None)
        if original is not None and not takes_device(torch, name):
            note = f"torch.{name} makes a tensor of the CPU"
            yield Patch(torch, name, _on_the_cpu(places, original), None, note=note)


def _made(context: Context, places: Places, targets: Targets, name: str, original: Function) -> Function:
    position = device_position(context.torch, name)
    if position is not None:
        return _by_position(context, original, position)
    is_like = name.endswith("_like")
    without = _like(places, original) if is_like else _on_the_cpu_or_default(context, places, original)
    if name in _OF_TENSORS:
        without = _where_tensors_are(context.torch.Tensor, places, original, without)
    return _by_keyword(context, targets, original, without)


def _by_keyword(context: Context, targets: Targets, original: Function, without: Function) -> Function:
    """`original` with the keyword `device`; `without` answers calls that do not give it."""
    translate, answer = context.devices.translate, answering(context)

    def call(*args: Any, device: Any = None, **kwargs: Any) -> Any:
        kwargs.pop("pin_memory", None)
        if device is None:
            return without(*args, **kwargs)
        index = targets.index(device)
        if type(device) is int:
            device = "cuda"
        try:
            made = original(*args, device=translate(device), **kwargs)
        except RuntimeError as error:
            answer(error, index)
            raise
        return made if index is None else targets.arrived(made, index)

    return disguise(call, original)


def _on_the_cpu_or_default(context: Context, places: Places, original: Function) -> Function:
    in_mode = context.torch._C._is_torch_function_mode_enabled

    def call(*args: Any, **kwargs: Any) -> Any:
        made = original(*args, **kwargs)
        # Under torch.set_default_device, the call comes again with a device.
        return made if in_mode() else places.put(made, CPU)

    return call


def _like(places: Places, original: Function) -> Function:
    """`original` makes a tensor like its first argument: the new one counts as being on the same device."""

    def call(*args: Any, **kwargs: Any) -> Any:
        made = original(*args, **kwargs)
        place = places.of(args[0]) if args else None
        return made if place is None else places.put(made, place)

    return call


def _where_tensors_are(tensor: Any, places: Places, original: Function, otherwise: Function) -> Function:
    def call(*args: Any, **kwargs: Any) -> Any:
        given = next((argument for argument in (*args, *kwargs.values()) if isinstance(argument, tensor)), None)
        if given is None:
            return otherwise(*args, **kwargs)
        made, place = original(*args, **kwargs), places.of(given)
        return made if made is given or place is None else places.put(made, place)

    return call


def _by_position(context: Context, original: Function, position: int) -> Function:
    translate = context.devices.translate

    def call(*args: Any, **kwargs: Any) -> Any:
        if len(args) > position:
            args = (*args[:position], translate(args[position]), *args[position + 1 :])
        elif "device" in kwargs:
            kwargs["device"] = translate(kwargs["device"])
        return original(*args, **kwargs)

    return disguise(call, original)


def _on_the_cpu(places: Places, original: Callable[..., Any]) -> Function:
    def call(*args: Any, **kwargs: Any) -> Any:
        return places.put(original(*args, **kwargs), CPU)

    return disguise(call, original)
