"""torch.cuda.FloatTensor(...) and the other types of that kind, and torch.set_default_tensor_type with one of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from torchada.redirect.context import Context
from torchada.redirect.engine import Kind, Patch
from torchada.redirect.entry_point import EntryPoint
from torchada.redirect.type_names import SCALAR_TYPES, LegacyTypes


def patches(context: Context) -> Iterator[Patch]:
    torch = context.torch
    types = LegacyTypes(context)
    for prefix in SCALAR_TYPES:
        name = f"{prefix}Tensor"
        own = getattr(context.namespace, name, None)
        kind: Kind = "emulated" if own is None else "adapted"
        yield Patch(torch.cuda, name, types.made(prefix, own), f"torch.cuda.{name}", kind=kind)
    default = _set_default_tensor_type(context, types, torch.set_default_tensor_type)
    yield Patch(torch, "set_default_tensor_type", default, 'torch.set_default_tensor_type("torch.cuda.FloatTensor")')


def _set_default_tensor_type(context: Context, types: LegacyTypes, original: Callable[[object], object]) -> EntryPoint:
    torch, device_type = context.torch, context.backend.device_type
    by_device = False  # a default dtype and a default device do the same, in one thread

    def set_default_tensor_type(t: object) -> None:
        from torchada.redirect.default_type import set_default_type  # hardly any program sets it

        nonlocal by_device
        dtype, was_by_device = types.scalar_type(t), by_device
        if dtype is None:
            original(t)
        by_device = dtype is not None and not set_default_type(torch, types.prefix(dtype), device_type)
        if by_device:
            torch.set_default_dtype(dtype)
            torch.set_default_device("cuda")
        elif was_by_device:
            torch.set_default_device(None)

    return EntryPoint(original, set_default_tensor_type)
