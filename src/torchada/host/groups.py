"""Process groups named "nccl" serve the devices cuda and cpu: a tensor of the device is in the memory of its process."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from torchada.redirect.context import Context
from torchada.redirect.engine import Patch, Skip
from torchada.redirect.entry_point import EntryPoint

_NAME = "nccl"


def patches(context: Context) -> Iterator[Patch]:
    if not context.torch.distributed.is_available():
        raise Skip("torch was built without torch.distributed")
    distributed = context.torch.distributed
    c10d, serves = distributed.distributed_c10d, ["cuda", "cpu"]
    note = "groups named NCCL take tensors of the processes"
    yield Patch(c10d.Backend.backend_capability, _NAME, serves, None, note=note)
    init = EntryPoint(c10d.init_process_group, _without_device(c10d.init_process_group))
    for owner in (distributed, c10d):
        yield Patch(owner, "init_process_group", init, "torch.distributed.init_process_group(device_id)")


def _without_device(original: Callable[..., Any]) -> Callable[..., Any]:
    """A device to bind the group to has to be the accelerator's for torch, and there is nothing to bind."""

    def init_process_group(*args: Any, device_id: object = None, **kwargs: Any) -> Any:
        return original(*args, **kwargs)

    return init_process_group
