"""torch.distributed._symmetric_memory: memory that every device of a group reads and writes, by NVLink, NVSHMEM or NCCL."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from torchada.redirect.context import Context
from torchada.redirect.engine import Patch, Skip
from torchada.redirect.unsupported import error

_WHY = "{} gives torch no allocator of such memory; the collectives of torch.distributed do its work"
# Those that make or need such memory. Whether there is any is asked of others, which answer as where there is none.
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


def _refusing(context: Context, original: Callable[..., Any], api: str) -> Callable[..., Any]:
    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            return original(*args, **kwargs)
        except RuntimeError as reason:
            raise error(context, api, _WHY.format(context.backend.adapter)) from reason

    call.__name__ = call.__qualname__ = api.rpartition(".")[2]
    return call
