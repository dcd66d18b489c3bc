"""DistributedDataParallel(device_ids=[0]): torch takes no device ids for a module of the CPU."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from torchada.redirect.calls import disguise
from torchada.redirect.context import Context
from torchada.redirect.engine import Patch, Skip

if TYPE_CHECKING:
    from torchada.redirect.types import AnyFunction


def patches(context: Context) -> Iterator[Patch]:
    if not context.torch.distributed.is_available():
        raise Skip("torch was built without torch.distributed")
    parallel = context.torch.nn.parallel.DistributedDataParallel
    yield Patch(parallel, "__init__", _init(parallel.__init__), "torch.nn.parallel.DistributedDataParallel(device_ids)")


def _init(original: AnyFunction) -> AnyFunction:
    def __init__(
        self: Any, module: Any, device_ids: Any = None, output_device: Any = None, *args: Any, **kwargs: Any
    ) -> None:
        original(self, module, None, None, *args, **kwargs)

    return disguise(__init__, original)
