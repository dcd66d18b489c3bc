"""DeviceMesh("cuda") is a mesh of the backend's devices, because torch compares its device type with those of tensors."""

from __future__ import annotations

from collections.abc import Iterator

from torchada.redirect import calls
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
