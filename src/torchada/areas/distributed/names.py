"""torch.distributed's backend "nccl": the group stays what the program called it, and the backend's library does the work.

Torch makes a group of that name by naming `ProcessGroupNCCL`, and treats it by its name ever after: options, splitting, timeouts,
the ways of gradients, `get_backend()`. So there is nothing to translate: the class is the backend's own, which has the same
constructor and options, and the device of the group is `torch.device("cuda")`, as ever.

A group that a program has made by the backend's own name ("mccl") keeps that name, and torch treats it as a third party's.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from torchada.redirect.context import Context
from torchada.redirect.engine import Patch, Skip

_NAME = "nccl"


def patches(context: Context) -> Iterator[Patch]:
    distributed = context.torch.distributed
    if not distributed.is_available():
        raise Skip("torch was built without torch.distributed")
    group = context.backend.collectives.process_group(distributed, _NAME)
    if group is None:
        raise Skip(f"{context.backend.adapter} has no process group for {_NAME!r}")
    yield from _class(context, group)
    yield from _availability(context, group)
    yield from _defaults(context)


def _class(context: Context, group: type) -> Iterator[Patch]:
    distributed = context.torch.distributed
    c10d, to = distributed.distributed_c10d, f"torch.distributed.{group.__name__}"
    for module in (distributed, c10d, context.torch._C._distributed_c10d):
        yield Patch(module, "ProcessGroupNCCL", group, "torch.distributed.ProcessGroupNCCL", to=to)
    if "ProcessGroupNCCL" not in c10d.__all__:
        yield Patch(
            c10d,
            "__all__",
            [*c10d.__all__, "ProcessGroupNCCL"],
            None,
            note="from torch.distributed.distributed_c10d import *",
        )


def _availability(context: Context, group: Any) -> Iterator[Patch]:
    distributed, native = context.torch.distributed, context.torch._C._distributed_c10d
    c10d, to = (
        distributed.distributed_c10d,
        f"torch.distributed.is_{context.backend.collectives.names[_NAME]}_available",
    )
    yield Patch(c10d, "_NCCL_AVAILABLE", True, "torch.distributed.is_nccl_available", to=to)
    timeout = group.Options()._timeout
    yield Patch(native, "_DEFAULT_PG_NCCL_TIMEOUT", timeout, None, note="the timeout of NCCL")
    for module in (distributed.constants, c10d):
        yield Patch(module, "default_pg_nccl_timeout", timeout, "torch.distributed.constants.default_pg_nccl_timeout")


def _defaults(context: Context) -> Iterator[Patch]:
    """What torch chooses for a device when no backend is named: the library by the name that CUDA code knows."""
    c10d = context.torch.distributed.distributed_c10d
    table, api = c10d.Backend.default_device_backend_map, "torch.distributed.get_default_backend_for_device"
    yield Patch(table, context.backend.device_type, _NAME, api, to="the backend of the device")
