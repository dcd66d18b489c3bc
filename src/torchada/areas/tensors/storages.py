"""Storages: is_cuda, their texts, and the classes torch.cuda.FloatStorage and the like. Storage.cuda calls torch.device.

torch reads the device of such a class from the name of its module, and has a class in torch.cuda for each dtype. They are the
classes of the backend's device here, in torch.musa too, so that a storage has one class.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from torchada.redirect.calls import disguise
from torchada.redirect.context import Context
from torchada.redirect.engine import Patch
from torchada.redirect.kept_names import text_by_view

if TYPE_CHECKING:
    from torchada.redirect.types import Storage


def patches(context: Context) -> Iterator[Patch]:
    device_type = context.backend.device_type
    for owner in (context.torch.UntypedStorage, context.torch.TypedStorage):
        original = vars(owner)["is_cuda"]

        def is_cuda(self: Storage, original: property = original) -> bool:
            assert original.fget is not None
            return bool(original.fget(self)) or self.device.type == device_type

        yield Patch(owner, "is_cuda", property(is_cuda), f"{owner.__name__}.is_cuda")
    yield from _texts(context)
    yield from _classes(context)


def _texts(context: Context) -> Iterator[Patch]:
    typed, untyped = context.torch.TypedStorage, context.torch.UntypedStorage
    for owner, name in ((typed, "__str__"), (typed, "__repr__"), (untyped, "__repr__")):
        text = text_by_view(context, getattr(owner, name))
        yield Patch(owner, name, text, None, note=f"{owner.__name__}.{name} by who asks")


def _classes(context: Context) -> Iterator[Patch]:
    torch, storage = context.torch, context.torch.storage
    device_of = storage._get_device_from_module

    def _get_device_from_module(module: str) -> str:
        name: str = device_of(module)
        return context.backend.device_type if name == "cuda" else name

    yield Patch(
        storage, "_get_device_from_module", disguise(_get_device_from_module, device_of), "torch.cuda.FloatStorage"
    )
    for name, kind in vars(torch.cuda).items():
        if isinstance(kind, storage._LegacyStorageMeta):
            yield Patch(context.namespace, name, kind, None, note=f"Tensor.storage_type() is torch.cuda.{name}")
