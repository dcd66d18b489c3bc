"""Puts the fused modules beside PyTorch's own, in torch.ao.nn.intrinsic and below it, which `import torch` has imported."""

from typing import Any

import torch

from .nn.intrinsic import modules, qat, quantized

__all__ = ["_register_ao_intrinsic_modules"]


def _register_ao_intrinsic_modules() -> None:
    intrinsic: Any = torch.ao.nn.intrinsic
    for own, theirs in ((modules, intrinsic), (qat, intrinsic.qat), (quantized, intrinsic.quantized)):
        for name in own.__all__:
            setattr(theirs, name, getattr(own, name))
