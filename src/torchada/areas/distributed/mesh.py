"""DeviceMesh("cuda") is a mesh of the backend's devices, because torch compares its device type with those of tensors.

Its `device_type` answers by who asks, as that of a device does.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from torchada.redirect import calls
from torchada.redirect.by_view import by_view
from torchada.redirect.context import Context
from torchada.redirect.engine import Patch, Skip


def patches(context: Context) -> Iterator[Patch]:
    if not context.torch.distributed.is_available():
        raise Skip("torch was built without torch.distributed")
    mesh = context.torch.distributed.device_mesh.DeviceMesh
    init = calls.method(mesh.__init__, context.devices, "device_type")
    init.__module__ = mesh.__init__.__module__
    yield Patch(
        mesh, "__init__", init, 'torch.distributed.device_mesh.DeviceMesh("cuda")', to="a mesh of the backend's devices"
    )
    yield Patch(mesh, "device_type", _device_type(context, mesh), None, note="DeviceMesh.device_type by who asks")


def _device_type(context: Context, mesh: type) -> property:
    """Where torch has a property, ours asks it; otherwise it is an entry of each mesh, and stays one."""
    own = vars(mesh).get("device_type")
    device_type = context.backend.computes_on or context.backend.device_type

    def honest(self: Any) -> str:
        kept: str = own.__get__(self) if own is not None else vars(self)["device_type"]
        return kept

    def cuda(self: Any) -> str:
        kept = honest(self)
        return "cuda" if kept == device_type else kept

    def keep(self: Any, value: str) -> None:
        vars(self)["device_type"] = value

    answer = by_view(context.views, cuda, honest)
    return property(answer) if own is not None else property(answer, keep)
