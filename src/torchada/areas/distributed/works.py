"""Work.block_current_stream(): the stream waits, and the host goes on. torch knows it for backends that bring it.

A work of the device's own library waits that way in any case, as NCCL's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from torchada.redirect.calls import disguise
from torchada.redirect.context import Context
from torchada.redirect.engine import Patch, Skip

if TYPE_CHECKING:
    from torch.distributed import Work

_NAME = "block_current_stream"


def patches(context: Context) -> Iterator[Patch]:
    work = getattr(context.torch.distributed, "Work", None)
    if work is None or _NAME not in vars(work):
        raise Skip("this torch's works do not block streams")
    api, to = f"torch.distributed.Work.{_NAME}", "torch.distributed.Work.wait"
    yield Patch(work, _NAME, _blocking(vars(work)[_NAME]), api, to=to)


def _blocking(original: Callable[[Work], None]) -> Callable[[Work], None]:
    def block_current_stream(self: Work) -> None:
        try:
            original(self)
        except RuntimeError as error:
            if "StreamBlock" not in str(error):
                raise
            self.wait()

    return disguise(block_current_stream, original)
