"""DeviceMesh("cuda") is a mesh of the backend's devices, because torch compares its device type with those of tensors.

Its `device_type` and its text answer by who asks, as those of a device do.
"""

from __future__ import annotations

from collections.abc import Iterator

from torchada.redirect import calls
from torchada.redirect.context import Context
from torchada.redirect.engine import Patch, Skip
from torchada.redirect.kept_names import kept_name, text_by_view


def patches(context: Context) -> Iterator[Patch]:
    if not context.torch.distributed.is_available():
        raise Skip("torch was built without torch.distributed")
    mesh = context.torch.distributed.device_mesh.DeviceMesh
    init = calls.method(mesh.__init__, context.devices, "device_type")
    init.__module__ = mesh.__init__.__module__
    yield Patch(
        mesh, "__init__", init, 'torch.distributed.device_mesh.DeviceMesh("cuda")', to="a mesh of the backend's devices"
    )
    kept = kept_name(context, mesh, "device_type")
    yield Patch(mesh, "device_type", kept, None, note="DeviceMesh.device_type by who asks")
    text = text_by_view(context, mesh.__repr__)
    yield Patch(mesh, "__repr__", text, None, note="repr of a DeviceMesh by who asks")
