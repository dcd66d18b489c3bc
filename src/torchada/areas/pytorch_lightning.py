"""The Trainer of the package pytorch_lightning: accelerator="gpu"."""

from __future__ import annotations

from collections.abc import Iterator

from torchada.redirect.accelerators import setup_device
from torchada.redirect.context import Context
from torchada.redirect.engine import Patch


def patches(context: Context) -> Iterator[Patch]:
    import pytorch_lightning.accelerators.cuda as trainer

    yield setup_device(context, trainer.CUDAAccelerator, 'pytorch_lightning.Trainer(accelerator="gpu")')
