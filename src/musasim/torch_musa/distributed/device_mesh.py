"""A mesh that has to make the default process group makes it with its device's own backend, and no other beside it."""

from __future__ import annotations

from typing import Any

import torch
import torch.distributed as dist
from torch.distributed.device_mesh import DeviceMesh, _get_device_handle


def _get_or_create_default_group(self: Any) -> Any:
    """The default process group. Whoever makes it here also chooses a device for each rank, in their order."""
    new = not dist.is_initialized()
    if new:
        dist.init_process_group(_backend(self))
    ranks = dist.get_world_size()
    if self.mesh.numel() > ranks:
        raise RuntimeError(f"Mesh should not be bigger than default world size, but found {self.mesh.numel()} ranks!")
    handle: Any = _get_device_handle(self.device_type)
    if new and handle:
        handle.set_device(dist.get_rank() % _devices(handle.device_count(), ranks, self.device_type))
    return torch.distributed.distributed_c10d._get_default_group()


def _backend(mesh: Any) -> str | None:
    return dist.Backend.default_device_backend_map.get(mesh.device_type.lower())


def _devices(count: int, ranks: int, kind: str) -> int:
    if ranks > count and ranks % count:
        raise RuntimeError(
            f"DeviceMesh only support homogeneous hardware, but found {ranks} ranks and {count} {kind} devices!"
        )
    return count


def _apply_device_mesh_patch() -> None:
    mesh: Any = DeviceMesh
    if hasattr(mesh, "_get_or_create_default_group"):
        mesh._get_or_create_default_group = _get_or_create_default_group
    else:  # from torch 2.8 on, torch's own respects a device that the program has chosen
        mesh._setup_world_group_and_device = _with_the_backend(mesh._setup_world_group_and_device)


def _with_the_backend(set_up: Any) -> Any:
    def _setup_world_group_and_device(self: Any) -> Any:
        if not dist.is_initialized():
            dist.init_process_group(_backend(self))
        return set_up(self)

    return _setup_world_group_and_device


_apply_device_mesh_patch()
