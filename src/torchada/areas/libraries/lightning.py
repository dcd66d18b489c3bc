"""Lightning's Trainer and Fabric with accelerator="gpu": the accelerators accept a device only if its type is "cuda".

The class exists once in each of Lightning's packages: lightning, and the older pytorch_lightning and lightning_fabric.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from torchada.redirect.calls import disguise
from torchada.redirect.context import Context
from torchada.redirect.engine import Patch

if TYPE_CHECKING:
    import torch

_TRIED = "lightning 2.6.6"


def trainer_and_fabric(context: Context) -> Iterator[Patch]:
    # lightning.pytorch imports lightning.fabric, and `import lightning` imports both.
    import lightning.fabric.accelerators.cuda as fabric
    import lightning.pytorch.accelerators.cuda as trainer

    yield _accelerator(context, trainer.CUDAAccelerator, "lightning.pytorch")
    yield _accelerator(context, fabric.CUDAAccelerator, "lightning.fabric")


def older_trainer(context: Context) -> Iterator[Patch]:
    import pytorch_lightning.accelerators.cuda as trainer

    yield _accelerator(context, trainer.CUDAAccelerator, "pytorch_lightning")


def older_fabric(context: Context) -> Iterator[Patch]:
    import lightning_fabric.accelerators.cuda as fabric

    yield _accelerator(context, fabric.CUDAAccelerator, "lightning_fabric")


def _accelerator(context: Context, accelerator: type, package: str) -> Patch:
    setup = _setup_device(context, vars(accelerator)["setup_device"])
    return Patch(accelerator, "setup_device", setup, f"{package}.accelerators.CUDAAccelerator", since=_TRIED)


def _setup_device(context: Context, original: Callable[[object, torch.device], None]) -> Callable[..., None]:
    device_type, cuda = context.backend.device_type, context.torch.cuda

    # Besides the check, the original suggests TF32 for NVIDIA's newer GPUs.
    def setup_device(self: object, device: torch.device) -> None:
        if device.type == device_type:
            cuda.set_device(device)
        else:
            original(self, device)

    return disguise(setup_device, original)
