"""Fabric of the package lightning_fabric: accelerator="cuda"."""

from __future__ import annotations

from collections.abc import Iterator

from torchada.redirect.accelerators import setup_device
from torchada.redirect.context import Context
from torchada.redirect.engine import Patch


def patches(context: Context) -> Iterator[Patch]:
    import lightning_fabric.accelerators.cuda as fabric

    yield setup_device(context, fabric.CUDAAccelerator, 'lightning_fabric.Fabric(accelerator="cuda")')
