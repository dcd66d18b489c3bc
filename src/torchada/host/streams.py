"""Tensor.record_stream: memory of the host is given back when nobody uses it, whatever stream it was used on."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from torchada.redirect.calls import disguise
from torchada.redirect.context import Context
from torchada.redirect.engine import Patch

if TYPE_CHECKING:
    from torchada.redirect.types import Tensor


def patches(context: Context) -> Iterator[Patch]:
    tensor = context.torch.Tensor

    def record_stream(self: Tensor, stream: object) -> None:
        if not isinstance(stream, context.namespace.Stream):
            raise TypeError(f"record_stream: expected a torch.cuda.Stream, but got {stream!r}")

    replacement = disguise(record_stream, tensor.record_stream, "Tensor.record_stream")
    yield Patch(tensor, "record_stream", replacement, "Tensor.record_stream", kind="emulated", to="nothing to wait for")
