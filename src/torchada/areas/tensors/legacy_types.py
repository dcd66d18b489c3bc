"""torch.cuda.FloatTensor(...) and the other types of that kind, and torch.set_default_tensor_type with one of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from torchada.redirect.context import Context
from torchada.redirect.engine import Patch
from torchada.redirect.entry_point import EntryPoint
from torchada.redirect.type_names import SCALAR_TYPES, LegacyTypes

# torch has these storages, but no tensor types of complex numbers.
_COMPLEX_STORAGES = ("ComplexFloatStorage", "ComplexDoubleStorage")


def patches(context: Context) -> Iterator[Patch]:
    torch = context.torch
    types = LegacyTypes(context)
    for prefix in SCALAR_TYPES:
        for kind in ("Tensor", "Storage"):
            own = getattr(context.namespace, prefix + kind, None)
            if own is not None:
                yield Patch(torch.cuda, prefix + kind, own, f"torch.cuda.{prefix}{kind}")
        if not hasattr(context.namespace, f"{prefix}Tensor"):
            yield Patch(
                torch.cuda, f"{prefix}Tensor", types.made(prefix), f"torch.cuda.{prefix}Tensor", kind="emulated"
            )
    yield from _complex_storages(context)
    default = _set_default_tensor_type(context, types, torch.set_default_tensor_type)
    yield Patch(torch, "set_default_tensor_type", default, 'torch.set_default_tensor_type("torch.cuda.FloatTensor")')


def _complex_storages(context: Context) -> Iterator[Patch]:
    """Classes that torch_musa lacks. torch looks for a tensor's class in the namespace of its device."""
    pattern = getattr(context.namespace, "FloatStorage", None)
    for name in _COMPLEX_STORAGES:
        if pattern is not None and not hasattr(context.namespace, name):
            made = _storage_class(getattr(context.torch.cuda, name), pattern.__module__)
            yield Patch(context.namespace, name, made, None, kind="emulated", note="Tensor.storage_type()")
            yield Patch(context.torch.cuda, name, made, f"torch.cuda.{name}", kind="emulated")


def _storage_class(original: type, module: str) -> type:
    """torch takes the device of such a class from the last part of its module's name."""
    made: type = type(original)(original.__name__, (original,), {"__module__": module})
    return made


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
