from typing import Any

import torch.ao.nn.intrinsic
import torch.ao.nn.qat
import torch.nn.functional as F
from torch import Tensor, nn

from ... import modules

_intrinsic: Any = torch.ao.nn.intrinsic
_Conv2d: Any = torch.ao.nn.qat.Conv2d


class ConvBnSiLU2d(_intrinsic.ConvBn2d):  # type: ignore[misc]
    """As torch_musa's, which cannot be made: its base takes two modules, and not the numbers of a convolution."""

    _FLOAT_MODULE = modules.ConvBnSiLU2d
    _FLOAT_CONV_MODULE = nn.Conv2d
    _FLOAT_BN_MODULE = nn.BatchNorm2d
    _FLOAT_RELU_MODULE = nn.SiLU
    _FUSED_FLOAT_MODULE = modules.ConvSiLU2d

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        padding: Any = 0,
        dilation: Any = 1,
        groups: int = 1,
        bias: Any = None,
        padding_mode: str = "zeros",
        eps: float = 1e-05,
        momentum: float = 0.1,
        freeze_bn: bool = False,
        qconfig: Any = None,
    ) -> None:
        convolution = (in_channels, out_channels, kernel_size, stride, padding, dilation, groups, bias, padding_mode)
        super().__init__(*convolution, eps, momentum, freeze_bn, qconfig)

    def forward(self, input: Tensor) -> Tensor:
        return F.silu(_intrinsic.ConvBn2d._forward(self, input))

    @classmethod
    def from_float(cls, mod: Any) -> Any:
        return super().from_float(mod)


class ConvSiLU2d(_Conv2d, _intrinsic._FusedModule):  # type: ignore[misc]
    """A convolution with simulated quantization of its weight, and SiLU."""

    _FLOAT_MODULE = modules.ConvSiLU2d
    _FLOAT_CONV_MODULE = nn.Conv2d
    _FLOAT_BN_MODULE = None
    _FLOAT_SILU_MODULE = nn.SiLU

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        padding: Any = 0,
        dilation: Any = 1,
        groups: int = 1,
        bias: bool = True,
        padding_mode: str = "zeros",
        qconfig: Any = None,
    ) -> None:
        window = {"stride": stride, "padding": padding, "dilation": dilation, "groups": groups}
        rest = {"bias": bias, "padding_mode": padding_mode, "qconfig": qconfig}
        super().__init__(in_channels, out_channels, kernel_size, **window, **rest)
        assert qconfig, "qconfig must be provided for QAT module"
        self.qconfig = qconfig
        self.weight_fake_quant = self.qconfig.weight()

    def forward(self, input: Tensor) -> Tensor:
        return F.silu(self._conv_forward(input, self.weight_fake_quant(self.weight), self.bias))

    @classmethod
    def from_float(cls, mod: Any) -> Any:
        return super().from_float(mod)
