"""Storage.is_cuda. Storage.cuda needs no patch, because it calls torch.device."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from torchada.redirect.context import Context
from torchada.redirect.engine import Patch

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
