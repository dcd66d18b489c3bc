from typing import Any

import torch
import torch.ao.nn.intrinsic.qat
import torch.ao.nn.quantized
from torch import Tensor
from torch.nn.utils import fuse_conv_bn_weights

from ... import modules
from ._padding import padded

_Conv2d: Any = torch.ao.nn.quantized.Conv2d
_intrinsic: Any = torch.ao.nn.intrinsic


class ConvSiLU2d(_Conv2d):  # type: ignore[misc]
    """torch.ao.nn.quantized.Conv2d, then SiLU."""

    _FLOAT_MODULE = modules.ConvSiLU2d

    def forward(self, input: Tensor) -> Tensor:
        run: Any = torch.ops.quantized.conv2d_silu
        made: Tensor = run(padded(self, input), self._packed_params, self.scale, self.zero_point)
        return made

    def _get_name(self) -> str:
        return "QuantizedConvSiLU2d"

    @classmethod
    def from_float(cls, mod: Any) -> Any:
        # torch_musa asks for the type with ReLU here and below.
        if isinstance(mod, _intrinsic.qat.ConvBnReLU2d):
            bn = mod.bn
            mod.weight, mod.bias = fuse_conv_bn_weights(
                mod.weight, mod.bias, bn.running_mean, bn.running_var, bn.eps, bn.weight, bn.bias
            )
        return super().from_float(mod)

    @classmethod
    def from_reference(cls, ref_qconv: Any, output_scale: float, output_zero_point: int) -> Any:
        is_fused = isinstance(ref_qconv, _intrinsic.ConvBnReLU2d)
        assert is_fused, "BatchNorm2d should be fused into Conv2d before converting to reference module"
        return super().from_reference(ref_qconv[0], output_scale, output_zero_point)
