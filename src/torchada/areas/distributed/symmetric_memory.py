"""torch.distributed._symmetric_memory: memory that all devices of a group read and write, through NVLink, NVSHMEM or NCCL."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from torchada.redirect.context import Context
from torchada.redirect.engine import Patch, Skip
from torchada.redirect.unsupported import error

if TYPE_CHECKING:
    from torchada.redirect.types import P, R

_WHY = "this {} gives torch no allocator for such memory, as newer releases do; use the collectives of torch.distributed instead"
# How torch says that nobody has given it one. Any other error is about the call.
_LACKS = ("does not support device type", "does not find allocation backend", "did not find backend")
# Functions that make or need such memory. Those that query it stay: they report that there is none.
_FUNCTIONS = ("empty_strided_p2p", "rendezvous", "set_backend", "get_mempool_allocator")


def patches(context: Context) -> Iterator[Patch]:
    native = getattr(context.torch._C, "_distributed_c10d", None)
    memory = getattr(native, "_SymmetricMemory", None)
    if memory is None:
        raise Skip("this torch has no symmetric memory")
    for name in _FUNCTIONS:
        if hasattr(memory, name):
            api = f"torch.distributed._symmetric_memory.{name.removesuffix('_strided_p2p')}"
            refuse = staticmethod(_refusing(context, getattr(memory, name), api))
            yield Patch(memory, name, refuse, api, kind="unsupported")


def _refusing(context: Context, original: Callable[P, R], api: str) -> Callable[P, R]:
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return original(*args, **kwargs)
        except RuntimeError as reason:
            if not any(text in str(reason) for text in _LACKS):
                raise
            raise error(context, api, _WHY.format(context.backend.adapter)) from reason

    call.__name__ = call.__qualname__ = api.rpartition(".")[2]
    return call
