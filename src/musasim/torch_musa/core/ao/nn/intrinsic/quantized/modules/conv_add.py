from typing import Any

import torch
import torch.ao.nn.quantized
from torch import Tensor

from ... import modules
from ._padding import padded

_Conv2d: Any = torch.ao.nn.quantized.Conv2d


class ConvAddSiLU2d(_Conv2d):  # type: ignore[misc]
    """torch.ao.nn.quantized.Conv2d, then an addition of a second input and SiLU."""

    _FLOAT_MODULE = modules.ConvAddSiLU2d

    def forward(self, input: Tensor, extra_input: Tensor) -> Tensor:
        run: Any = torch.ops.quantized.conv2d_add_silu
        made: Tensor = run(padded(self, input), extra_input, self._packed_params, self.scale, self.zero_point)
        return made

    def _get_name(self) -> str:
        return "QuantizedConvAddSiLU2d"

    @classmethod
    def from_float(cls, mod: Any) -> Any:
        return super().from_float(mod)

    @classmethod
    def from_reference(cls, ref_qconv: Any, output_scale: float, output_zero_point: int) -> Any:
        return super().from_reference(ref_qconv[0], output_scale, output_zero_point)
