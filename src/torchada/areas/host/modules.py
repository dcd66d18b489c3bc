"""nn.Module.to("cuda"), .cuda and .cpu call the methods of tensors. What Module.to parses first may be a number or a tensor."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from torchada.areas.host._places import CPU, Places, places_of
from torchada.areas.host._targets import Targets
from torchada.redirect.calls import disguise
from torchada.redirect.context import Context
from torchada.redirect.engine import Patch
from torchada.redirect.owners import Members


def patches(context: Context) -> Iterator[Patch]:
    torch = context.torch
    functions, mixin = torch._C._nn, torch.nn.parameter.UninitializedTensorMixin
    yield Patch(functions, "_parse_to", _parse_to(context, functions._parse_to), 'Module.to("cuda")')
    copied = _deepcopy(places_of(torch), torch.nn.Parameter.__deepcopy__)
    note = "copies of parameters, as copy.deepcopy makes them, are where the original is"
    yield Patch(torch.nn.Parameter, "__deepcopy__", copied, None, note=note)
    note = "lazy modules can be moved before their shapes are known"
    allowed = Members(mixin, "_allowed_methods")
    for name in ("to", "cuda", "cpu"):
        yield Patch(allowed, name, getattr(torch.Tensor, name), None, note=note)


def _deepcopy(places: Places, original: Callable[..., Any]) -> Callable[..., Any]:
    def __deepcopy__(self: Any, memo: Any) -> Any:
        made, place = original(self, memo), places.of(self)
        return made if place is None else places.put(made, place)

    return disguise(__deepcopy__, original)


def _parse_to(context: Context, original: Callable[..., Any]) -> Callable[..., Any]:
    torch, targets = context.torch, Targets(context, places_of(context.torch))

    def _parse_to(*args: Any, **kwargs: Any) -> Any:
        given = args[0] if args else kwargs.get("tensor")
        is_tensor = isinstance(given, torch.Tensor)
        if not is_tensor and type(given) is not int and targets.stood_for(given) is None:
            return original(*args, **kwargs)
        index = targets.index(given)
        where = torch.device("cpu") if index == CPU else torch.device("cuda", index)
        if not is_tensor:
            return original(where, *args[1:], **kwargs)
        _, *rest = original(*args, **kwargs)
        return (where, *rest)

    return disguise(_parse_to, original)
