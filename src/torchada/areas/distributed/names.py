"""torch.distributed's backend "nccl": the group keeps the name that the program gave it, and the backend's library does the work.

torch makes a group of that name with the class `ProcessGroupNCCL`, and goes by its name from then on: options, splitting,
timeouts, gradients, `get_backend()`. The name therefore needs no translation: the class is the backend's own, which has the same
constructor and options, and the device of the group is still `torch.device("cuda")`.

A group that a program makes with the backend's own name ("mccl") keeps that name, and torch treats it as a third party's.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Protocol

from torchada.redirect.by_view import by_view
from torchada.redirect.context import Context
from torchada.redirect.engine import Patch, Skip
from torchada.redirect.kept_names import text_by_view
from torchada.redirect.owners import Members

if TYPE_CHECKING:
    from datetime import timedelta

    class Options(Protocol):
        """What is used of a process group's options."""

        _timeout: timedelta

    class GroupClass(Protocol):
        """A class in the place of ProcessGroupNCCL."""

        __name__: str

        def Options(self) -> Options: ...


_NAME = "nccl"
# The classes that torch makes groups of NCCL with, if it has these functions. The last two are new in torch 2.15, and its "nccl" is
# the second.
_CLASSES = {
    "ProcessGroupNCCL": "is_nccl_available",
    "ProcessGroupNCCL2": "_create_nccl2_process_group",
    "ProcessGroupNCCLLazy": "_create_nccl_lazy_process_group",
}


def patches(context: Context) -> Iterator[Patch]:
    distributed = context.torch.distributed
    if not distributed.is_available():
        raise Skip("torch was built without torch.distributed")
    group = context.backend.collectives.process_group(distributed, _NAME)
    if group is None:
        raise Skip(f"{context.backend.adapter} has no process group for {_NAME!r}")
    yield from _class(context, group)
    yield from _shown_name(context, group)
    yield from _availability(context, group)
    yield from _defaults(context)


def _class(context: Context, group: GroupClass) -> Iterator[Patch]:
    distributed = context.torch.distributed
    c10d, to = distributed.distributed_c10d, f"torch.distributed.{group.__name__}"
    names = [name for name, user in _CLASSES.items() if hasattr(c10d, user)]
    for name in names:
        for module in (distributed, c10d, context.torch._C._distributed_c10d):
            yield Patch(module, name, group, f"torch.distributed.{name}", to=to)
    public, note = Members(c10d, "__all__"), "from torch.distributed.distributed_c10d import *"
    for name in names:
        if name not in c10d.__all__:
            yield Patch(public, name, name, None, note=note)


def _shown_name(context: Context, group: Any) -> Iterator[Patch]:
    """What a backend object says of itself, as `group._get_backend(device).name()`, and the devices of a configuration."""
    original, own = group.name, context.backend.collectives.names[_NAME]

    def name(self: object) -> str:
        kept: str = original(self)
        return _NAME if kept == own else kept

    shown = by_view(context.views, name, original)
    yield Patch(group, "name", shown, None, note="the name of a backend object by who asks")
    config = context.torch.distributed.distributed_c10d.BackendConfig
    text = text_by_view(context, config.__repr__)
    yield Patch(config, "__repr__", text, None, note="repr of a BackendConfig by who asks")


def _availability(context: Context, group: GroupClass) -> Iterator[Patch]:
    distributed, native = context.torch.distributed, context.torch._C._distributed_c10d
    c10d, to = (
        distributed.distributed_c10d,
        f"torch.distributed.is_{context.backend.collectives.names[_NAME]}_available",
    )
    yield Patch(c10d, "_NCCL_AVAILABLE", True, "torch.distributed.is_nccl_available", to=to)
    timeout = group.Options()._timeout
    yield Patch(native, "_DEFAULT_PG_NCCL_TIMEOUT", timeout, None, note="the default timeout of NCCL groups")
    for module in (distributed.constants, c10d):
        yield Patch(module, "default_pg_nccl_timeout", timeout, "torch.distributed.constants.default_pg_nccl_timeout")


def _defaults(context: Context) -> Iterator[Patch]:
    """What torch chooses for a device if the program names no backend: the library, by the name that CUDA code uses."""
    c10d = context.torch.distributed.distributed_c10d
    table, api = c10d.Backend.default_device_backend_map, "torch.distributed.get_default_backend_for_device"
    yield Patch(table, context.backend.device_type, _NAME, api, to="the backend of the device")
