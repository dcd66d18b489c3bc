"""lightning's Trainer and Fabric: accelerator="gpu"."""

from __future__ import annotations

from collections.abc import Iterator

from torchada.redirect.accelerators import setup_device
from torchada.redirect.context import Context
from torchada.redirect.engine import Patch


def patches(context: Context) -> Iterator[Patch]:
    # The first imports the second, and `import lightning` both.
    import lightning.fabric.accelerators.cuda as fabric
    import lightning.pytorch.accelerators.cuda as trainer

    yield setup_device(context, trainer.CUDAAccelerator, 'lightning.Trainer(accelerator="gpu")')
    yield setup_device(context, fabric.CUDAAccelerator, 'lightning.Fabric(accelerator="cuda")')
