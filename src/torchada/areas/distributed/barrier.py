"""The barrier of a group, as a method.

torch.distributed.barrier names a device. Here torch takes the one that it knows for the backend's name: CUDA's for "nccl".
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from torchada.redirect.calls import disguise
from torchada.redirect.context import Context
from torchada.redirect.engine import Patch, Skip

if TYPE_CHECKING:
    import torch
    from torch.distributed import ProcessGroup


def patches(context: Context) -> Iterator[Patch]:
    distributed = context.torch.distributed
    if not distributed.is_available():
        raise Skip("torch was built without torch.distributed")
    group, api = distributed.ProcessGroup, "torch.distributed.ProcessGroup.barrier"
    yield Patch(group, "barrier", _barrier(context, distributed, vars(group)["barrier"]), api)


def _barrier(context: Context, distributed: Any, original: Callable[..., Any]) -> Callable[..., Any]:
    backend, namespace = context.backend, context.namespace
    device_type = backend.computes_on or backend.device_type

    def options_of(opts: Any = None, timeout: Any = None) -> Any:
        """The second way of calling it, which newer torch has, gives only a timeout."""
        if isinstance(opts, distributed.BarrierOptions):
            return opts
        made, timeout = distributed.BarrierOptions(), opts if timeout is None else timeout
        if timeout is not None:
            made.timeout = timeout
        return made

    def device_for(group: ProcessGroup, given: torch.device | None) -> torch.device:
        """C++ allocates on it, so the host, which only calls its device cuda, takes the one that it computes on."""
        chosen = None if backend.computes_on else given or group.bound_device_id
        current: torch.device = context.torch.device(device_type, namespace.current_device())
        return chosen or current

    def barrier(self: ProcessGroup, *args: Any, **kwargs: Any) -> Any:
        if self.name() != "nccl":
            return original(self, *args, **kwargs)
        options = options_of(*args, **kwargs)
        given = options.device
        options.device = device_for(self, given)
        try:
            return original(self, options)
        finally:
            options.device = given  # the program may use them again, with another device

    return disguise(barrier, original)
