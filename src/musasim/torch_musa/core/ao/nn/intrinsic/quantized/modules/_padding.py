"""The padding that a quantized convolution does not do itself."""

from typing import Any

import torch.ao.nn.quantized
import torch.nn.functional as F
from torch import Tensor

_conv: Any = torch.ao.nn.quantized.modules.conv


def padded(module: Any, input: Tensor) -> Tensor:
    """`input` with the module's padding, unless it is of zeros, which the operator adds."""
    if len(input.shape) != 4:
        raise ValueError("Input shape must be `(N, C, H, W)`!")
    if module.padding_mode == "zeros":
        return input
    return F.pad(input, _conv._reverse_repeat_padding(module.padding), mode=module.padding_mode)
